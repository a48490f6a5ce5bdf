#include "compare/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/activation_table.h"

namespace exhume {
namespace {

std::vector<UnitDifference> unit_differences(const Network& first, const Network& second,
                                             const Alignment& alignment) {
  const bool unlike = first.activation != second.activation;  // tanh and sigmoid
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

NetworkComparison compare_parameters(const Network& first, const Network& second, bool free_signs) {
  return first.depth() == 1 && second.depth() == 1 ? compare_units(first, second, free_signs)
                                                   : compare_layers(first, second, free_signs);
}

}  // namespace exhume
