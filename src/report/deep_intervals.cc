#include "report/deep_intervals.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "report/least_certain.h"
#include "report/sections.h"
#include "report/svg.h"

namespace exhume {
namespace {

struct NamedWeight {
  std::string name;
  double value, error;
};

std::string column_name(const std::vector<std::string>& names, const char* what, Index number) {
  const auto place = static_cast<std::size_t>(number);
  return place < names.size() ? names[place] : fmt::format("{} {}", what, number + 1);
}

bool same_shapes(const Network& a, const Network& b) {
  if (a.layers.size() != b.layers.size()) return false;
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    if (a.layers[l].W.rows() != b.layers[l].W.rows() || a.layers[l].W.cols() != b.layers[l].W.cols() ||
        a.layers[l].b.size() != b.layers[l].b.size())
      return false;
  }
  return true;
}

}  // namespace

Json deep_intervals(const DeepResult& result) {
  const Network &network = result.network, &errors = result.standard_errors;
  if (result.status != Status::kEstimated || errors.layers.empty() || !same_shapes(network, errors))
    return nullptr;
  std::vector<svg::Forest> charts;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const bool first = l == 0, last = l + 1 == network.layers.size();
    const Layer &values = network.layers[l], &spread = errors.layers[l];
    std::vector<NamedWeight> all;
    for (Index i = 0; i < values.W.rows(); ++i) {
      const std::string row =
          last ? column_name(result.output_names, "output", i) : fmt::format("unit {}", i + 1);
      for (Index j = 0; j < values.W.cols(); ++j) {
        const std::string column =
            first ? column_name(result.input_names, "input", j) : fmt::format("unit {} below", j + 1);
        all.push_back({row + ", " + column, values.W(i, j), spread.W(i, j)});
      }
      all.push_back({row + (last ? ", constant" : ", bias"), values.b(i), spread.b(i)});
    }
    const std::size_t count = all.size();
    const std::vector<NamedWeight> shown = least_certain(std::move(all));
    const std::string which = shown.size() < count
                                  ? fmt::format("the {} least certain of {}", shown.size(),
                                                svg::group_thousands(fmt::format("{}", count)))
                                  : fmt::format("all {}", count);
    svg::Forest chart{
        .title = fmt::format("{}: {}", last ? "Outputs" : fmt::format("Layer {}", l + 1), which),
        .label = "weight"};
    for (const NamedWeight& weight : shown) {
      chart.names.push_back(weight.name);
      chart.values.push_back(weight.value);
      chart.reaches.push_back(kIntervalReach * weight.error);
    }
    charts.push_back(std::move(chart));
  }
  return forest_section(
      "Weights with intervals",
      fmt::format("{:.4g} standard errors to either side; dashed where that reaches over zero.",
                  kIntervalReach),
      charts);
}

}  // namespace exhume
