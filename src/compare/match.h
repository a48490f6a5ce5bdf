// Which unit of one network is which of another, where widths may differ.
//
//     first        f as it is, units that do nothing dropped, twins joined, units that are on in the whole
//                  domain and have no partner folded; a unit of zeros for every unit that only g has
//     second       g in the order and the scale of f's units; a unit of zeros for every unit only f has
//
// Layer by layer from below. A row is taken over inputs, matched units below and its bias, each column times
// the root mean square of that feature over the domain, so that entries count by what they do. Units are
// matched by optimal assignment of rows of unit norm; a pair that is too far apart is none. The
// scale of a unit is the weighted median of the ratios of its entries: one entry that was changed does not
// move it. Units with no free scale (tanh, GELU) are matched by their rows as they are, up to the sign where
// the table of activations has a symmetry; sigmoids become tanh. Cost O(k^3) per layer.
#pragma once

#include <cstdint>
#include <vector>

#include "compare/blocks.h"
#include "compare/pair_bounds.h"

namespace exhume {

// One unit of the pair.
struct MatchedUnit {
  Index layer = 0;                        // from 0; depth: the outputs
  Index first_row = -1, second_row = -1;  // rows of the files, from 0; -1: the file has no such unit
  double scale = 1;                       // of the second
  double change = 0;  // largest |difference| of an entry, times its feature, over the norm of the row
  // Where that is: source (0 the inputs) and the rows of the files there; -1: the bias.
  Index source = -1, first_from = -1, second_from = -1;
  double first_weight = 0, second_weight = 0;  // in the scale of the first
  Index place = 0, from_place = -1;            // of the unit, and of what that weight reads, in the pair
};

// Weights that agree to this, by their effect on the unit, are the same: a hundredth of what storing them in
// float32 does, and about the error that a fit to machine precision leaves.
constexpr double kSameWeights = 1e-9;

struct Matching {
  BlockNetwork first, second;  // aligned
  std::vector<MatchedUnit> units;
  bool complete = false;                                 // every unit has a partner
  double worst_change = 0;                               // over matched units
  std::vector<MatchedUnit> folded_first, folded_second;  // units that were on in the whole domain
  bool same_depth = true;
  [[nodiscard]] bool same_weights() const { return complete && worst_change <= kSameWeights; }
  bool same_units =
      true;  // one activation; otherwise nothing is matched, and the networks are as in the files
};

// low, high: the domain, finite. free_signs: units may be turned around.
[[nodiscard]] Matching match_units(const Network& f, const Network& g, const Vector& low, const Vector& high,
                                   bool free_signs, std::uint64_t seed);

}  // namespace exhume
