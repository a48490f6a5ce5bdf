#include "data/planted_deep.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "base/random.h"
#include "data/require.h"

namespace exhume {

void PlantedDeepOptions::validate() const {
  require_count("inputs", inputs);
  require_count("outputs", outputs);
  if (widths.empty()) throw std::invalid_argument("widths is empty, but must name at least one hidden layer");
  for (std::size_t l = 0; l < widths.size(); ++l) require_count(fmt::format("widths[{}]", l), widths[l]);
  require_not_negative("bias", bias);
  require(std::isfinite(centre), "centre", centre, "finite");
}

Network plant_deep(const PlantedDeepOptions& options) {
  options.validate();
  Network network;
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
