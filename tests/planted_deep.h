// A random network of several hidden layers, of given widths.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "data/planted_deep.h"

namespace exhume {

inline Network planted_deep(Index d, std::vector<Index> widths, Index m, std::uint64_t seed) {
  PlantedDeepOptions options;
  options.inputs = d;
  options.widths = std::move(widths);
  options.outputs = m;
  options.seed = seed;
  return plant_deep(options);
}

}  // namespace exhume
