// Alternating least squares for the rank-one terms of a three-way array, from a given start.
//
//     minimise |T - sum_i s_i u_i (x) v_i (x) w_i|      T: n1 x n2 x n3, given as n3 slices (n1 x n2)
//
// One mode after the other is the least-squares solution for the other two,
//
//     U = T_(1) K ((V^T V) o (W^T W))^-1,     T_(1) K = sum_k T_k V diag(W_k.),
//
// and so on. The misfit never grows. Local: it refines, it does not find. O(n1 n2 n3 r) a sweep.
#pragma once

#include "papers/depth2/rank_one_terms.h"

namespace exhume {

// At most `sweeps` sweeps, fewer where the misfit stops falling.
[[nodiscard]] RankOneTerms cp_als(const std::vector<Matrix>& slices, RankOneTerms start, int sweeps);

}  // namespace exhume
