#include "io/weight_names.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "exhume/error.h"

namespace exhume {
namespace {

// A name taken apart: <before><number><kind>.
struct WeightName {
  std::string before;
  std::size_t number = 0;
  bool bias = false;
};

std::optional<std::size_t> whole_number(std::string_view digits) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::optional<WeightName> parse(std::string_view name) {
  if (name.size() > 1 && (name[0] == 'W' || name[0] == 'b')) {
    // The text before the number tells the two forms apart, so W1 and 0.weight are never one network.
    if (const auto number = whole_number(name.substr(1))) return WeightName{"W", *number, name[0] == 'b'};
  }
  for (const std::string_view kind : {".weight", ".bias"}) {
    if (!name.ends_with(kind)) continue;
    const std::string_view stem = name.substr(0, name.size() - kind.size());
    const std::size_t digits = stem.find_last_not_of("0123456789") + 1;  // npos + 1 = 0
    const auto number = whole_number(stem.substr(digits));
    if (!number) return std::nullopt;
    return WeightName{std::string(stem.substr(0, digits)) + ".", *number, kind == ".bias"};
  }
  return std::nullopt;
}

struct NamedLayer {
  std::string weight, bias;  // names; empty where there is none
};

// Layers by their number; empty where a name is of no known form or two forms are mixed.
std::map<std::size_t, NamedLayer> named_layers(const Tensors& tensors) {
  std::map<std::size_t, NamedLayer> layers;
  std::optional<std::string> before;
  for (const StoredTensor& tensor : tensors.list) {
    const auto name = parse(tensor.name);
    if (!name || (before && *before != name->before)) return {};
    before = name->before;
    std::string& place = name->bias ? layers[name->number].bias : layers[name->number].weight;
    if (!place.empty()) return {};  // 1.weight and 01.weight
    place = tensor.name;
  }
  return layers;
}

}  // namespace

bool has_weight_names(const Tensors& tensors) { return !named_layers(tensors).empty(); }

Network network_of_weights(const Tensors& tensors, const std::string& file) {
  require_relu(tensors, file);
  const auto layers = named_layers(tensors);
  if (layers.empty()) {
    throw DataError(
        fmt::format("{} does not hold a network: its arrays must be W, b, A, c (or layers.0.W, ...), W1, b1, "
                    "W2, b2, ..., or 0.weight, 0.bias, 2.weight, ...; rename them",
                    file));
  }
  Network network;
  for (const auto& [number, names] : layers) {
    if (names.weight.empty()) {
      throw DataError(
          fmt::format("{} holds '{}' but no weights beside it; save the whole network", file, names.bias));
    }
    Layer layer{tensors.matrix(names.weight, file), Vector(), Matrix()};
    if (layer.W.size() == 0)
      throw DataError(fmt::format("{}: '{}' is empty; every layer needs units", file, names.weight));
    layer.b = names.bias.empty() ? Vector(Vector::Zero(layer.W.rows())) : tensors.vector(names.bias, file);
    if (layer.b.size() != layer.W.rows()) {
      throw DataError(
          fmt::format("{}: '{}' has {} entries but '{}' has {} rows; weights are (units) x (units below)",
                      file, names.bias, layer.b.size(), names.weight, layer.W.rows()));
    }
    if (!network.layers.empty() && layer.W.cols() != network.layers.back().W.rows()) {
      throw DataError(fmt::format(
          "{}: '{}' has {} columns but the layer below has {} units; weights are (units) x (units below)",
          file, names.weight, layer.W.cols(), network.layers.back().W.rows()));
    }
    network.layers.push_back(std::move(layer));
  }
  return network;
}

}  // namespace exhume
