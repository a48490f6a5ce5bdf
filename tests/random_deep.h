// Networks of several hidden layers for tests: weights and biases standard normal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "exhume/network.h"

namespace exhume {

// d-k_1-...-m; skip terms above the first layer where asked for.
inline Network random_deep(const std::vector<Index>& sizes, std::uint64_t seed, bool skips) {
  Network network;
  Index lower = 0;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    const std::string name = std::to_string(l);
    Layer layer;
    layer.W = Stream(seed, "W" + name).normal_matrix(sizes[l + 1], sizes[l]);
    layer.b = Stream(seed, "b" + name).normal_matrix(sizes[l + 1], 1).col(0);
    if (skips && l > 0) layer.L = Stream(seed, "L" + name).normal_matrix(sizes[l + 1], lower);
    lower += sizes[l];
    network.layers.push_back(std::move(layer));
  }
  return network;
}

// Whether two networks have the same numbers.
inline bool same_weights(const Network& p, const Network& q) {
  if (p.layers.size() != q.layers.size()) return false;
  for (std::size_t l = 0; l < p.layers.size(); ++l) {
    const Layer &a = p.layers[l], &b = q.layers[l];
    if (a.W.rows() != b.W.rows() || a.W.cols() != b.W.cols() || a.W != b.W || a.b != b.b) return false;
    if (a.L.size() != b.L.size() || (a.L.size() != 0 && a.L != b.L)) return false;
  }
  return true;
}

}  // namespace exhume
