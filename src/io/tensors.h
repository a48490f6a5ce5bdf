// Named arrays of doubles, as .safetensors and .npz files hold them, and networks made of them.
//
//   f(x) = A max(Wx + b, 0) + c + L x     <->     W: k x d   b: k   A: m x k   c: m   L: m x d, or not there
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

[[nodiscard]] Tensors to_tensors(const Network& network);

// Throws DataError unless the tensors are exactly W, b, A, c and perhaps L, with shapes that
// fit and finite entries.
[[nodiscard]] Network to_network(const Tensors& tensors, const std::string& file);

// Throws DataError where the metadata name other units than ReLUs.
void require_relu(const Tensors& tensors, const std::string& file);

}  // namespace exhume
