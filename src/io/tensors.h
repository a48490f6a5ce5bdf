// Named arrays of doubles, as .safetensors and .npz files hold them, and networks made of them.
//
//   one hidden layer   W: k x d   b: k   A: m x k   c: m   and perhaps L: m x d
//   D >= 2 of them     layers.0.W, layers.0.b, layers.1.W, layers.1.b, ..., A, c: the output layer is (A, c)
//                      layers.1.L, ..., L: skip terms (exhume/network.h), each only where there is one
//
// A network without hidden layers is written as one hidden layer of no units, L being its weights.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exhume/network.h"

namespace exhume {

struct StoredTensor {
  std::string name;
  std::vector<Index> shape;  // empty for one number
  std::vector<double> data;  // row-major, product of the shape
};

struct Tensors {
  std::vector<StoredTensor> list;               // in the order of the file
  std::map<std::string, std::string> metadata;  // .safetensors only

  // The tensor of this name, or null.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  void add(std::string name, const Matrix& matrix);  // 2-D
  void add(std::string name, const Vector& vector);  // 1-D
  // The tensor as a matrix or vector. Throws DataError if it is missing or of another dimension; `file` is
  // what messages call the place it came from.
  [[nodiscard]] Matrix matrix(std::string_view name, const std::string& file) const;
  [[nodiscard]] Vector vector(std::string_view name, const std::string& file) const;
};

// Throws std::invalid_argument for a network whose shapes do not fit.
[[nodiscard]] Tensors to_tensors(const Network& given);

// Whether an array is called layers.<number>.W or layers.<number>.b.
[[nodiscard]] bool is_deep(const Tensors& tensors);

// A network of no hidden layer as one hidden layer of no units, one of one as it is. Throws
// std::invalid_argument for more.
[[nodiscard]] Network to_one_layer(const Network& network);

// Throws DataError unless the tensors are exactly those above, with shapes that fit, finite entries and ReLUs
// for units.
[[nodiscard]] Network to_network(const Tensors& tensors, const std::string& file);

// Throws DataError where the metadata name other units than ReLUs.
void require_relu(const Tensors& tensors, const std::string& file);

}  // namespace exhume
