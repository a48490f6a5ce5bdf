#include "exhume/data/planted_deep.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "exhume/base/random.h"

namespace exhume {
namespace {

void require_count(std::string_view field, Index value) {
  if (value < 1) throw std::invalid_argument(fmt::format("{} is {}, but must be at least 1", field, value));
}

}  // namespace

void PlantedDeepOptions::validate() const {
  require_count("inputs", inputs);
  require_count("outputs", outputs);
  if (widths.empty()) throw std::invalid_argument("widths is empty, but must name at least one hidden layer");
  for (std::size_t l = 0; l < widths.size(); ++l) require_count(fmt::format("widths[{}]", l), widths[l]);
  if (!(bias >= 0 && std::isfinite(bias)))
    throw std::invalid_argument(fmt::format("bias is {}, but must be a finite number of at least 0", bias));
  if (!std::isfinite(centre))
    throw std::invalid_argument(fmt::format("centre is {}, but must be finite", centre));
}

DeepNetwork plant_deep(const PlantedDeepOptions& options) {
  options.validate();
  DeepNetwork network;
  Index below = options.inputs;
  for (std::size_t l = 0; l < options.widths.size(); ++l) {
    const Index k = options.widths[l];
    Layer layer;
    layer.W = Stream(options.seed, fmt::format("planted W of layer {}", l)).normal_matrix(k, below);
    if (l == 0) {
      layer.W.rowwise().normalize();
    } else {
      layer.W *= std::sqrt(2 / static_cast<double>(below));
    }
    layer.b = options.bias *
              Stream(options.seed, fmt::format("planted b of layer {}", l)).normal_matrix(k, 1).col(0);
    if (l == 0) layer.b -= options.centre * layer.W.rowwise().sum();
    network.layers.push_back(std::move(layer));
    below = k;
  }
  network.layers.push_back({Stream(options.seed, "planted A").normal_matrix(options.outputs, below),
                            Vector::Zero(options.outputs), Matrix()});
  return network;
}

}  // namespace exhume
