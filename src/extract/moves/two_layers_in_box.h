// Move: two hidden layers in a box, from the jumps of several outputs.
//
//   needs     a box, three outputs or more, no more units in the first layer than inputs
//   asks      some 40,000 to 100,000 queries for 64-32-16-10: 20,000 far places, and 8 + 2 (d + 2) per kink
//   time      25 reweighted least-squares fits of k_1 + k_2 + 1 unknowns to the far places per round, 40
//             rounds at most
//   changes   planes and evidence; the network is returned where all far places are answered
//
//     f(x) = A h_2 + c,    h_2 = max(W_2 h_1 + b_2, 0),    h_1 = max(W_1 x + b_1, 0)      k_1 <= d,  m >= 3
//
// At a kink the Jacobian jumps by a n^T. With D_l the units of layer l that are on there,
//
//     unit j of the first layer      n = w_j wherever it is met,   a = A D_2 W_2 e_j turns with D_2
//     unit i of the second           a = A e_i wherever it is met,   n = W_1^T D_1 w_i
//
//   1. planes that bend f everywhere by jumps that turn (extract/moves/find_planes.h), until all Jacobians
//      lie in their span; signs (extract/moves/resolve_signs.h)
//   2. every other kink in coordinates of these planes: W_1^+T n = D_1 w_i, which is zero where units are
//      off, or the kink is none of the second layer. Kinks of one direction a give w_i, all of it that is on
//      at one of them, and b_i = -w_i.h_1, the same at all
//   3. the answers at far places (extract/box_places.h) on (|z_2|, h_1, 1), least absolute deviations: units
//      that are missing show as few wrong answers. The first kink on the way from a right one is theirs
//   4. again, until all far places are answered, no weight is open, and the terms in h_1 are those of the
//      signs
#pragma once

#include <cstdint>
#include <vector>

#include "extract/moves/find_planes.h"
#include "model/form.h"

namespace exhume {

struct JumpLayers {
  DeepForm
      form;  // plain, in inputs; right as far as kinks are known, before any polish. Empty where rounds ended
  RowMatrix u, y;             // far places and their answers
  std::vector<Index> widths;  // found so far; empty where no unit of a second layer was
};

// space: whole, bounded. Adds what lines show to evidence and planes.
[[nodiscard]] JumpLayers find_two_layers_in_box(const Space& space, std::uint64_t seed,
                                                QueryEvidence& evidence, Matrix& planes);

}  // namespace exhume
