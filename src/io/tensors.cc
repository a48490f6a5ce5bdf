#include "io/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "exhume/error.h"
#include "io/finite.h"
#include "io/shape.h"
#include "model/activation_table.h"

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

constexpr std::string_view kPrefix = "layers.";

// l of layers.<l>.<part>, where the name is of that form.
std::optional<std::size_t> layer_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::size_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
  return layer;
}

// Hidden layers that the names speak of, without gaps: every one needs a W.
std::size_t count_layers(const Tensors& tensors) {
  std::size_t count = 0;
  while (tensors.find(fmt::format("layers.{}.W", count)) != nullptr) ++count;
  return count;
}

void require_known_names(const Tensors& tensors, std::size_t depth, const std::string& file) {
  std::set<std::string> known = {"A", "c", "L"};
  for (std::size_t l = 0; l < depth; ++l) {
    for (const char* part : {"W", "b", "L"}) known.insert(fmt::format("layers.{}.{}", l, part));
  }
  known.erase("layers.0.L");  // below the first layer lie the inputs alone
  for (const StoredTensor& tensor : tensors.list) {
    if (known.count(tensor.name) > 0) continue;
    throw DataError(
        fmt::format("{} holds an array '{}', which is no part of a network of {} hidden layers (layers.0.W, "
                    "layers.0.b, ..., A, c, L; numbers without gaps); check that it is the right file",
                    file, tensor.name, depth));
  }
}

struct Names {
  std::string W, b, L;
};
Names names_of(std::size_t layer, std::size_t depth) {
  if (layer == depth) return {"A", "c", "L"};
  return {fmt::format("layers.{}.W", layer), fmt::format("layers.{}.b", layer),
          fmt::format("layers.{}.L", layer)};
}

void require_extent(const std::string& file, const std::string& what, Index value, const std::string& like,
                    Index wanted) {
  if (value == wanted) return;
  throw DataError(fmt::format(
      "{}: the number of {} is {} but {} is {}; the shapes must be W k x (units below), b k, L k x "
      "(inputs and units of all layers but the one below)",
      file, what, value, like, wanted));
}

// One hidden layer under the names W, b, A, c, L.
Network one_layer(const Tensors& tensors, const std::string& file) {
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
  network.W() = tensors.matrix("W", file);
  network.b() = tensors.vector("b", file);
  network.A() = tensors.matrix("A", file);
  network.c() = tensors.vector("c", file);
  const Index k = network.W().rows(), m = network.A().rows();
  require_shape(file, "the size of b", network.b().size(), "the number of rows of W", k);
  require_shape(file, "the number of columns of A", network.A().cols(), "the number of rows of W", k);
  require_shape(file, "the size of c", network.c().size(), "the number of rows of A", m);
  if (tensors.find("L")) {
    network.L() = tensors.matrix("L", file);
    require_shape(file, "the number of rows of L", network.L().rows(), "the number of rows of A", m);
    require_shape(file, "the number of columns of L", network.L().cols(), "the number of columns of W",
                  network.W().cols());
  }
  return network;
}

// Several under the names layers.0.W, ...
Network several_layers(const Tensors& tensors, const std::string& file) {
  const std::size_t depth = count_layers(tensors);
  require_known_names(tensors, depth, file);
  Network network;
  Index below = -1, lower = 0;  // units of the layer below; columns of a skip term
  for (std::size_t l = 0; l <= depth; ++l) {
    const Names names = names_of(l, depth);
    Layer layer{tensors.matrix(names.W, file), tensors.vector(names.b, file), Matrix()};
    const std::string rows = "the number of rows of " + names.W;
    require_extent(file, "entries of " + names.b, layer.b.size(), rows, layer.W.rows());
    if (l > 0) {
      require_extent(file, "columns of " + names.W, layer.W.cols(),
                     "the number of rows of " + names_of(l - 1, depth).W, below);
    }
    if (tensors.find(names.L) != nullptr) {
      layer.L = tensors.matrix(names.L, file);
      require_extent(file, "rows of " + names.L, layer.L.rows(), rows, layer.W.rows());
      require_extent(file, "columns of " + names.L, layer.L.cols(), "what lies below", lower);
    }
    lower += layer.W.cols();
    below = layer.W.rows();
    network.layers.push_back(std::move(layer));
  }
  return network;
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

Network to_one_layer(const Network& network) {
  if (network.depth() > 1) {
    throw std::invalid_argument(
        fmt::format("network: it has {} hidden layers, expected one", network.depth()));
  }
  if (network.depth() != 0) return network;
  const Layer& only = network.layers[0];
  return {Matrix(0, only.W.cols()), Vector(0), Matrix(only.W.rows(), 0), only.b, only.W};
}

Tensors to_tensors(const Network& given) {
  given.validate();
  const Network network = given.depth() == 0 ? to_one_layer(given) : given;
  Tensors tensors;
  const auto depth = static_cast<std::size_t>(network.depth());
  for (std::size_t l = 0; l <= depth; ++l) {
    const Layer& layer = network.layers[l];
    const Names names = depth == 1 && l == 0 ? Names{"W", "b", ""} : names_of(l, depth);
    tensors.add(names.W, layer.W);
    tensors.add(names.b, layer.b);
    if (layer.L.size() != 0) tensors.add(names.L, layer.L);
  }
  if (network.activation != "relu") tensors.metadata["activation"] = network.activation;
  return tensors;
}

bool is_deep(const Tensors& tensors) {
  return std::any_of(tensors.list.begin(), tensors.list.end(), [](const StoredTensor& tensor) {
    return layer_of(tensor.name) && (tensor.name.ends_with(".W") || tensor.name.ends_with(".b"));
  });
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
  const auto named = tensors.metadata.find("activation");
  const bool known = named != tensors.metadata.end() && find_activation(named->second) != nullptr;
  if (!known) require_relu(tensors, file);
  Network network = is_deep(tensors) ? several_layers(tensors, file) : one_layer(tensors, file);
  if (known) network.activation = named->second;
  return network;
}

}  // namespace exhume
