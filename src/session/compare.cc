#include "exhume/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "exhume/error.h"
#include "io/open.h"
#include "model/activation_table.h"

namespace exhume {
namespace {

// A network of one hidden layer, with the activation that its file names.
std::pair<Network, std::string> one_layer(StoredModel model, const std::string& path) {
  if (auto* network = std::get_if<Network>(&model)) {
    std::string activation = network->activation;
    return {std::move(*network), std::move(activation)};
  }
  if (auto* rectified = std::get_if<RectifiedNetwork>(&model))
    return {std::move(rectified->network), "rectified " + rectified->activation};
  throw DataError(fmt::format("{} is not a network of rectified units; give one", path));
}

bool is_deep(const StoredModel& model) {
  const auto* network = std::get_if<Network>(&model);
  return network != nullptr && network->depth() > 1;
}

// A network of ReLUs of any depth.
Network of_any_depth(const StoredModel& model, const std::string& path) {
  if (const auto* network = std::get_if<Network>(&model)) return *network;
  throw DataError(
      fmt::format("{} is not a network of ReLUs, but the other one is; give two of a kind", path));
}

std::vector<UnitDifference> unit_differences(const Network& first, const Network& second,
                                             const Alignment& alignment) {
  const bool unlike = first.activation != second.activation;
  Network p = canonical(unlike ? in_tanh_units(first) : first);
  const Network q = canonical(unlike ? in_tanh_units(second) : second);
  std::vector<Index> turn;
  for (std::size_t i = 0; i < alignment.turned[0].size(); ++i) {
    if (alignment.turned[0][i]) turn.push_back(static_cast<Index>(i));
  }
  p = p.activation == "relu" ? with_units_turned(p, 0, turn) : with_units_mirrored(p, 0, turn);
  std::vector<UnitDifference> list;
  for (Index i = 0; i < p.hidden(); ++i) {
    const Index j = alignment.match[0][static_cast<std::size_t>(i)];
    list.push_back({i, j, alignment.turned[0][static_cast<std::size_t>(i)],
                    (p.W().row(i) - q.W().row(j)).cwiseAbs().maxCoeff(), std::abs(p.b()(i) - q.b()(j)),
                    (p.A().col(i) - q.A().col(j)).cwiseAbs().maxCoeff()});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.worst() > b.worst(); });
  return list;
}

std::string shape_of(const Network& network, const char* extra) {
  std::string out = fmt::format("{}", network.inputs());
  for (const Layer& layer : network.layers) out += fmt::format(" → {}", layer.W.rows());
  return out + (network.has_skip_terms() ? extra : "");
}

std::vector<Index> units_of(const Network& network) {
  std::vector<Index> list;
  for (const Layer& layer : network.layers) list.push_back(layer.W.rows());
  return list;
}

NetworkComparison compare_layers(const Network& first, const Network& second, bool free_signs) {
  const Alignment alignment = align(first, second, {.free_signs = free_signs});
  const Network p = canonical(first), q = canonical(second);
  NetworkComparison found{.comparable = alignment.comparable,
                          .worst_error = alignment.worst_error,
                          .rms_error = alignment.rms_error,
                          .deep = true,
                          .first_shape = shape_of(p, " with skip terms"),
                          .second_shape = shape_of(q, " with skip terms"),
                          .first_units = units_of(p),
                          .second_units = units_of(q)};
  for (std::size_t l = 0; l < alignment.worst_of_layer.size(); ++l) {
    found.layers.push_back({p.layers[l].W.rows(), alignment.worst_of_layer[l],
                            l < alignment.match.size() ? alignment.match[l] : std::vector<Index>()});
  }
  return found;
}

NetworkComparison compare_units(const Network& first, const Network& second, bool free_signs) {
  const Alignment alignment = align(first, second, {.free_signs = free_signs});
  NetworkComparison found{.comparable = alignment.comparable,
                          .worst_error = alignment.worst_error,
                          .rms_error = alignment.rms_error,
                          .first_shape = shape_of(first, " with a linear term"),
                          .second_shape = shape_of(second, " with a linear term")};
  if (alignment.comparable) found.units = unit_differences(first, second, alignment);
  return found;
}

}  // namespace

NetworkComparison compare(const std::string& first, const std::string& second,
                          const CompareOptions& options) {
  StoredModel models[] = {open_model(first), open_model(second)};
  NetworkComparison found;
  if (is_deep(models[0]) || is_deep(models[1])) {
    const Network p = of_any_depth(models[0], first), q = of_any_depth(models[1], second);
    found = compare_layers(p, q, options.free_signs);
  } else {
    const auto [p, activation] = one_layer(std::move(models[0]), first);
    const auto [q, other] = one_layer(std::move(models[1]), second);
    const auto same_class = [](const std::string& name) { return name == "sigmoid" ? "tanh" : name; };
    if (same_class(activation) != same_class(other)) {
      throw DataError(fmt::format("the units of {} are {}, those of {} are {}: they cannot be compared",
                                  first, activation, second, other));
    }
    found = compare_units(p, q, options.free_signs);
  }
  found.within = found.comparable && !(found.worst_error > options.tolerance);
  return found;
}

}  // namespace exhume
