// Planted networks and their rows in memory, for tests.
#pragma once

#include <cstdint>

#include "data/planted.h"

namespace exhume {

inline SampleBlock read(const SampleSource& source, Index first, Index count) {
  SampleBlock block;
  source.read(first, count, block);
  return block;
}

struct PlantedData {
  Network network;
  RowMatrix x, y;
};

// n rows of a random network, Gaussian inputs, no noise.
inline PlantedData planted_data(Index d, Index k, Index m, Index n, std::uint64_t seed) {
  PlantedData out;
  out.network = plant({.inputs = d, .hidden = k, .outputs = m, .seed = seed});
  const SamplePtr samples = load(*planted_samples(out.network, {.samples = n, .seed = seed}));
  const SampleBlock block = read(*samples, 0, n);  // a view of them
  out.x = block.x();
  out.y = block.y();
  return out;
}

}  // namespace exhume
