#include "io/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exhume/error.h"
#include "io/finite.h"
#include "io/shape.h"

namespace exhume {
namespace {

const StoredTensor& required(const Tensors& tensors, std::string_view name, std::size_t dimensions,
                             const std::string& file) {
  const StoredTensor* found = tensors.find(name);
  if (!found)
    throw DataError(fmt::format("{} holds no array '{}'; check that it is the right file", file, name));
  if (found->shape.size() != dimensions) {
    throw DataError(fmt::format("{}: '{}' has shape {} but must have {} dimension{}; reshape it", file, name,
                                show_shape(found->shape), dimensions, dimensions == 1 ? "" : "s"));
  }
  const std::size_t bad = first_not_finite(found->data.data(), found->data.size());
  if (bad < found->data.size()) {
    throw DataError(fmt::format("{}: '{}' is {} at {}; weights must be finite, so save the network again",
                                file, name, name_not_finite(found->data[bad]),
                                show_position(found->shape, bad)));
  }
  return *found;
}

void require_shape(const std::string& file, std::string_view what, Index value, std::string_view like,
                   Index wanted) {
  if (value != wanted) {
    throw DataError(
        fmt::format("{}: {} is {} but {} is {}; the shapes must be W k x d, b k, A m x k, c m, L m x d", file,
                    what, value, like, wanted));
  }
}

}  // namespace

const StoredTensor* Tensors::find(std::string_view name) const {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const StoredTensor& t) { return t.name == name; });
  return found == list.end() ? nullptr : &*found;
}

void Tensors::add(std::string name, const Matrix& matrix) {
  StoredTensor tensor{std::move(name), {matrix.rows(), matrix.cols()}, {}};
  tensor.data.resize(static_cast<std::size_t>(matrix.size()));
  Eigen::Map<RowMatrix>(tensor.data.data(), matrix.rows(), matrix.cols()) = matrix;
  list.push_back(std::move(tensor));
}

void Tensors::add(std::string name, const Vector& vector) {
  list.push_back({std::move(name), {vector.size()}, {vector.data(), vector.data() + vector.size()}});
}

Matrix Tensors::matrix(std::string_view name, const std::string& file) const {
  const StoredTensor& tensor = required(*this, name, 2, file);
  return Eigen::Map<const RowMatrix>(tensor.data.data(), tensor.shape[0], tensor.shape[1]);
}

Vector Tensors::vector(std::string_view name, const std::string& file) const {
  const StoredTensor& tensor = required(*this, name, 1, file);
  return Eigen::Map<const Vector>(tensor.data.data(), tensor.shape[0]);
}

Tensors to_tensors(const Network& network) {
  network.validate();
  Tensors tensors;
  tensors.add("W", network.W);
  tensors.add("b", network.b);
  tensors.add("A", network.A);
  tensors.add("c", network.c);
  if (network.has_linear_term()) tensors.add("L", network.L);
  return tensors;
}

void require_relu(const Tensors& tensors, const std::string& file) {
  const auto activation = tensors.metadata.find("activation");
  if (activation != tensors.metadata.end() && activation->second != "relu") {
    throw DataError(
        fmt::format("{} holds units of another kind (its metadata say '{}'), not a network of ReLUs", file,
                    activation->second));
  }
}

Network to_network(const Tensors& tensors, const std::string& file) {
  require_relu(tensors, file);
  for (const StoredTensor& tensor : tensors.list) {
    if (tensor.name != "W" && tensor.name != "b" && tensor.name != "A" && tensor.name != "c" &&
        tensor.name != "L") {
      throw DataError(
          fmt::format("{} holds an array '{}', which is no part of a two-layer network (W, b, A, c, L); "
                      "check that it is the right file",
                      file, tensor.name));
    }
  }
  Network network;
  network.W = tensors.matrix("W", file);
  network.b = tensors.vector("b", file);
  network.A = tensors.matrix("A", file);
  network.c = tensors.vector("c", file);
  const Index k = network.W.rows(), m = network.A.rows();
  require_shape(file, "the size of b", network.b.size(), "the number of rows of W", k);
  require_shape(file, "the number of columns of A", network.A.cols(), "the number of rows of W", k);
  require_shape(file, "the size of c", network.c.size(), "the number of rows of A", m);
  if (tensors.find("L")) {
    network.L = tensors.matrix("L", file);
    require_shape(file, "the number of rows of L", network.L.rows(), "the number of rows of A", m);
    require_shape(file, "the number of columns of L", network.L.cols(), "the number of columns of W",
                  network.W.cols());
  }
  return network;
}

}  // namespace exhume
