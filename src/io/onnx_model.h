// An ONNX file taken apart: its nodes, constants, inputs and outputs, before anyone asks what they compute.
//
// Constants are initialisers and Constant nodes, FLOAT, DOUBLE, FLOAT16, BFLOAT16 or INT64, as raw_data or
// typed; sizes are those of the bytes that are there, never those that a shape claims. Constants of other
// types are kept by name and refused only where something needs their numbers. Numbers in a second file (as
// PyTorch's exporter leaves them) are read from the same folder, by a plain name, as far as the file goes.
// Refused: sparse weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exhume/types.h"

namespace exhume {

struct OnnxConstant {
  std::vector<Index> shape;
  std::vector<double> data;  // row-major, product of the shape; empty for types that are not read
  std::int64_t type = 0;     // TensorProto.DataType
};

struct OnnxAttribute {
  std::int64_t whole = 0;
  float real = 0;
  std::vector<std::int64_t> whole_list;
  std::string text;
};

struct OnnxNode {
  std::string op, domain;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, OnnxAttribute> attributes;
};

struct OnnxModel {
  std::vector<OnnxNode> nodes;  // in the order of the file, without Constant
  std::map<std::string, OnnxConstant> constants;
  std::vector<std::string> inputs, outputs;  // names; inputs without those that are constants
  // Extents of every input by name, 0 where one is not fixed; none where the file does not say.
  std::map<std::string, std::vector<Index>> shapes;
};

inline constexpr std::int64_t kOnnxFloat = 1, kOnnxInt64 = 7, kOnnxHalf = 10, kOnnxDouble = 11,
                              kOnnxBfloat = 16;

// What a file calls a part of itself, cut short for messages.
[[nodiscard]] std::string shown(const std::string& name);

// Throws DataError; `file` is what messages call the place the bytes came from. Numbers in other files are
// looked for in `folder`; there are none where it is empty.
[[nodiscard]] OnnxModel parse_onnx_model(std::string_view bytes, const std::string& file,
                                         const std::filesystem::path& folder = {});

}  // namespace exhume
