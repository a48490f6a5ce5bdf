// Networks of ReLUs out of ONNX files, as PyTorch's exporters and this library write them.
//
//   read      Gemm (alpha, beta, transB either way), MatMul, Add, Relu; Concat of inputs and hidden layers
//             before a Gemm, and Add of two layers, which is how skip terms are written
//             Sub, Mul and Div by constants, BatchNormalization; LeakyRelu, as a ReLU and a skip term
//             Flatten, Reshape, Dropout, Squeeze and Identity, which change nothing of a row here, and Shape,
//             Gather, Unsqueeze and their like where only a Reshape uses them; Transpose and Cast of weights,
//             Cast of values
//             Softmax, LogSoftmax, Sigmoid or Tanh at the end, where heads are asked for
//   weights   FLOAT or DOUBLE, as raw_data or typed, or in a file beside
//   inputs    rows of any shape, [n, 1, 8, 8] or [1, d], taken one after the other
//
// Every value of the graph is an affine function of the inputs and the hidden layers below it; Relu makes it
// the next hidden layer. Two layers without a Relu between them become one, by multiplication. Anything else
// is a DataError that names the operator: a network that is not understood is not guessed at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "exhume/network.h"

namespace exhume {

struct OnnxReadOptions {
  // Entries of one weight matrix that is a product of others; DataError above.
  Index largest_product = Index{1} << 28;
};

// What stands behind the last layer.
enum class OnnxHead { kNone, kSoftmax, kLogSoftmax, kSigmoid, kTanh };
struct OnnxFunction {
  Network network;
  OnnxHead head = OnnxHead::kNone;
};
[[nodiscard]] OnnxFunction read_onnx_function(const std::filesystem::path& path,
                                              const OnnxReadOptions& options = {});

// Without a head: DataError where there is one.
[[nodiscard]] Network read_onnx(const std::filesystem::path& path, const OnnxReadOptions& options = {});
// The same from the bytes of a file; `file` is what messages call it.
[[nodiscard]] Network parse_onnx(std::string_view bytes, const std::string& file,
                                 const OnnxReadOptions& options = {});

}  // namespace exhume
