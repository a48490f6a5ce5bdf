// Fewer outputs than units: rows in which one unit is active alone (paper rectified, Algorithm 7).
//
// Outputs without noise, y = A f(Wx), no two columns of A positive multiples of each other, m >= 2. Where
// only unit i is active, y is a positive multiple of a_i; rows with several active units have directions that
// never repeat. So equal directions y/|y| mark the rows of one unit, |y| on them is its output up to scale,
// and (w_i, b_i) follows from unit_from_output. Equal directions are found by sorting a random projection of
// them: O(n (m + log n)), not all pairs.
//
// Beyond the paper: found units are subtracted and the search repeats on what is left, in which more rows
// have a single active unit. So a unit needs d + 2 rows in which all units *not yet found* but itself are
// inactive, far fewer samples than kappa^O(k).
//
// Erratum: for m = 1 all outputs are multiples of each other and the algorithm cannot separate units,
// although the paper allows it.
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "model/rectified_network.h"

namespace exhume {

struct FewOutputsOptions {
  Index hidden = 0;          // units to stop at; 0: until the outputs are reproduced
  double tolerance = 1e-11;  // directions that differ by less are equal
  std::uint64_t seed = 0;
};

enum class FewOutputsOutcome {
  kExact,
  kOneOutput,  // m = 1: directions say nothing
  kNoGroups,   // rows of a single active unit are missing, or there is noise
  kNotReproduced,
};

struct FewOutputs {
  FewOutputsOutcome outcome = FewOutputsOutcome::kNoGroups;
  Network network;
  Index first_groups = 0;    // units found before anything was subtracted
  Index smallest_group = 0;  // rows of the smallest group used
  double relative_mse = 1;
};

[[nodiscard]] FewOutputs recover_few_outputs(const Eigen::Ref<const RowMatrix>& x,
                                             const Eigen::Ref<const RowMatrix>& y, const Rectifier& rectifier,
                                             const FewOutputsOptions& options, const Control& control);

// Rows of r (n x m) with equal directions: groups of at least `least` rows, largest first. Rows no longer
// than `shortest` are left out.
[[nodiscard]] std::vector<std::vector<Index>> equal_directions(const Eigen::Ref<const RowMatrix>& r,
                                                               Index least, double shortest, double tolerance,
                                                               std::uint64_t seed);

}  // namespace exhume
