// What routes to a network are asked: the same question for all of them.
#pragma once

#include <cstdint>
#include <optional>

#include "exhume/activation.h"
#include "exhume/types.h"

namespace exhume {

// What a route finds.
enum class Finds {
  kNetwork,      // recover
  kLowestLayer,  // lowest_layer, halfspaces
  kDeepNetwork,  // recover_deep
};
[[nodiscard]] const char* to_string(Finds finds);

struct RouteOptions {
  std::optional<Index> hidden;  // number of hidden units; empty: find it
  std::uint64_t seed = 0;       // of every random choice
  double budget_seconds = 300;  // routes that search stop here
  // A rough guess of the units, rows (w, b) in the user's coordinates, from moments that were summed elsewhere; route depth2.
  std::optional<Matrix> units;
  // Read by some routes only; the table (routes/table.h) says by which.
  double leak = 0;                           // slope of the units below zero, in [0, 1)
  Rectifier rectifier = rectified_power(1);  // activation of the units
  Index candidates = 400;                    // halfspaces that arbitrary noise chooses from
  Index most_patterns = 2'000'000;           // sign patterns that are looked at

  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

}  // namespace exhume
