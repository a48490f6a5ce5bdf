#include "io/deep_tensors.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "exhume/error.h"

namespace exhume {
namespace {

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

}  // namespace

Network to_one_layer(const DeepNetwork& network) {
  if (network.depth() != 0) return to_network(network);
  const Layer& only = network.layers[0];
  return {Matrix(0, only.W.cols()), Vector(0), Matrix(only.W.rows(), 0), only.b, only.W};
}

Tensors to_tensors(const DeepNetwork& network) {
  network.validate();
  if (network.depth() <= 1) return to_tensors(to_one_layer(network));
  Tensors tensors;
  const auto depth = static_cast<std::size_t>(network.depth());
  for (std::size_t l = 0; l <= depth; ++l) {
    const Layer& layer = network.layers[l];
    const Names names = names_of(l, depth);
    tensors.add(names.W, layer.W);
    tensors.add(names.b, layer.b);
    if (layer.L.size() != 0) tensors.add(names.L, layer.L);
  }
  return tensors;
}

bool is_deep(const Tensors& tensors) {
  for (const StoredTensor& tensor : tensors.list) {
    if (const std::string& name = tensor.name;
        layer_of(name) && (name.ends_with(".W") || name.ends_with(".b")))
      return true;
  }
  return false;
}

DeepNetwork to_deep_network(const Tensors& tensors, const std::string& file) {
  if (!is_deep(tensors)) return to_deep(to_network(tensors, file));
  require_relu(tensors, file);
  const std::size_t depth = count_layers(tensors);
  require_known_names(tensors, depth, file);
  DeepNetwork network;
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

}  // namespace exhume
