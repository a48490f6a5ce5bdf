// What is asked of several hidden layers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exhume/types.h"

namespace exhume {

struct DeepOptions {
  Index layers = 2;                          // hidden ones, at least 2
  std::optional<std::vector<Index>> widths;  // of every hidden layer; empty: find them
  Matrix first_layer;  // k x (d+1), rows (w, b) up to scale and sign; empty: find it. Two layers only
  std::uint64_t seed = 0;
  double budget_seconds = 300;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate(Index inputs) const;
};

}  // namespace exhume
