// Two hidden layers in a box, from the jumps of several outputs.
//
//     f(x) = A h_2 + c,    h_2 = max(W_2 h_1 + b_2, 0),    h_1 = max(W_1 x + b_1, 0)           k_1 <= d,  m >= 3
//
// At a kink the Jacobian jumps by a n^T. With D_l the units of layer l that are on there,
//
//     unit j of the first layer      n = w_j wherever it is met,   a = A D_2 W_2 e_j turns with D_2
//     unit i of the second           a = A e_i wherever it is met,   n = W_1^T D_1 w_i
//
//   1. planes that bend f everywhere by jumps that turn (extract/planes.h), until all Jacobians lie in their span; signs
//      (extract/first_layer.h)
//   2. every other kink in coordinates of these planes: W_1^+T n = D_1 w_i, which is zero where units are off, or the kink is
//      none of the second layer. Kinks of one direction a give w_i, all of it that is on at one of them, and
//      b_i = -w_i.h_1, the same at all
//   3. the answers at far places (extract/box_places.h) on (|z_2|, h_1, 1), least absolute deviations: units that are missing
//      show as few wrong answers. The first kink on the way from a right one is theirs
//   4. again, until all far places are answered, no weight is open, and the terms in h_1 are those of the signs
#pragma once

#include <cstdint>
#include <vector>

#include "extract/planes.h"
#include "model/form.h"

namespace exhume {

struct JumpLayersOptions {
  std::uint64_t seed = 0;
  int rounds = 40;
};

struct JumpLayers {
  DeepForm
      form;  // plain, in inputs; right as far as kinks are known, before any polish. Empty where rounds ended
  RowMatrix u, y;             // far places and their answers
  std::vector<Index> widths;  // found so far; empty where no unit of a second layer was
};

// space: whole, bounded. Adds what lines show to `planes`.
[[nodiscard]] JumpLayers jump_layers(const Space& space, const JumpLayersOptions& options, Planes& planes);

}  // namespace exhume
