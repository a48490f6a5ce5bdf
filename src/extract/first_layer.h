// The first layer read off Jacobians, where it has no more units than there are inputs.
//
//     J = df/du = sum_{j on} B_j w_j^T           rows w_j independent: B = J W^+,   B_j = 0 where unit j is off
//
// So the side of a plane on which B_j vanishes is the one where its unit is off. What J has beyond the span of the rows
// belongs to units that are on at all questions, and whose planes were not met:
//
//     J - B W = sum_a b_a rho_a^T,      w_a = rho_a + sum_j gamma_ja w_j,     gamma_j from B_j = b gamma_j where j is off
//
// They switch, if anywhere, on the way to the corners of the box to which w_a and -w_a point.
#pragma once

#include <vector>

#include "extract/jacobian.h"

namespace exhume {

struct FirstLayer {
  Vector signs;              // k: 1 where unit j is on at w_j.u + b_j > 0, else -1
  std::vector<Vector> left;  // w_a of units that are always on: one such is known, of several only the span
};

// V: k x (s+1), planes. Empty where there are more units than dimensions, or too few Jacobians.
[[nodiscard]] FirstLayer first_layer(const Matrix& V, const std::vector<LocalLinear>& pieces);

}  // namespace exhume
