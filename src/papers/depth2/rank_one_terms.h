// A three-way array as a sum of rank-one terms.
//
//     T = sum_{i=1..r} s_i u_i (x) v_i (x) w_i        T: n1 x n2 x n3, given as n3 slices T_k (n1 x n2)
#pragma once

#include <vector>

#include "exhume/types.h"

namespace exhume {

struct RankOneTerms {
  Matrix U, V, W;                // n1 x r, n2 x r, n3 x r, unit columns
  Vector weights;                // s_i >= 0: the Frobenius norms of the terms
  double relative_residual = 1;  // |T - sum of the terms| / |T|
};

// |T - sum of the terms| / |T|.
[[nodiscard]] double relative_residual(const std::vector<Matrix>& slices, const RankOneTerms& terms);

}  // namespace exhume
