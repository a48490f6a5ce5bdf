#include "compare_layers.h"

#include <fmt/format.h>

#include "terminal.h"

namespace exhume::cli {
namespace {

std::string name(std::size_t layer, std::size_t count) {
  return layer + 1 == count ? "outputs" : fmt::format("{}", layer + 1);
}

}  // namespace

std::string shape_of_layers(const Network& network) {
  std::string out = fmt::format("{}", network.inputs());
  for (const Layer& layer : network.layers) out += fmt::format(" → {}", layer.W.rows());
  return out + (network.has_skip_terms() ? " with skip terms" : "");
}

std::string layers_as_text(const LayerComparison& comparison) {
  const std::vector<double>& errors = comparison.alignment.worst_of_layer;
  std::string out = fmt::format(
      "\n{}\n", toned(Tone::kSoft, fmt::format("{:>8}  {:>6}  {:>11}", "layer", "units", "worst error")));
  for (std::size_t l = 0; l < errors.size(); ++l) {
    out += fmt::format("{:>8}  {:>6}  {:>11.2e}\n", name(l, errors.size()),
                       comparison.first.layers[l].W.rows(), errors[l]);
  }
  return out;
}

Json units_of_layers(const Network& network) {
  Json list = Json::array();
  for (const Layer& layer : network.layers) list.push_back(layer.W.rows());
  return list;
}

Json layers_as_json(const LayerComparison& comparison) {
  const Alignment& alignment = comparison.alignment;
  Json layers = Json::array();
  for (std::size_t l = 0; l < alignment.worst_of_layer.size(); ++l) {
    Json layer = {{"layer", l + 1},
                  {"units", comparison.first.layers[l].W.rows()},
                  {"worst_error", number(alignment.worst_of_layer[l])}};
    if (l < alignment.match.size()) {
      Json match = Json::array();
      for (const Index j : alignment.match[l]) match.push_back(j + 1);
      layer["match"] = std::move(match);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace exhume::cli
