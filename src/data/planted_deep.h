// Random networks of several hidden layers; data/planted.h makes samples of them.
//
//   W_1: unit rows, uniform on the sphere        W_l = sqrt(2 / k_{l-1}) N, l = 2, ..., D, N standard normal
//   b_l = s N, D hidden layers                   A standard normal, c = 0, no skip terms
//
// sqrt(2 / k) keeps the size of the values from layer to layer (He et al., 2015); the first layer's rows are
// those of the networks of one hidden layer (data/planted.h).
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/network.h"
#include "exhume/types.h"

namespace exhume {

struct PlantedDeepOptions {
  Index inputs = 10;                     // d >= 1
  std::vector<Index> widths = {10, 10};  // k_1, ..., k_D >= 1, at least one
  Index outputs = 1;                     // m >= 1
  double bias = 0.3;                     // s >= 0
  double centre = 0;  // every coordinate of the point at which the first layer's biases are measured
  std::uint64_t seed = 0;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

[[nodiscard]] Network plant_deep(const PlantedDeepOptions& options);

}  // namespace exhume
