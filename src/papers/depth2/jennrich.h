// Jennrich's algorithm: the rank-one terms of a three-way array.
//
//     T = sum_{i=1..r} s_i u_i (x) v_i (x) w_i        T: n1 x n2 x n3, given as n3 slices T_k (n1 x n2)
//
// with the u_i independent, the v_i independent and no two w_i parallel (paper depth2, Theorem A.5). Two
// random contractions of the third mode share their factors,
//
//     X = sum_k g_k T_k = U D_X V^T,   Y = sum_k h_k T_k = U D_Y V^T,   X z_i = (D_X/D_Y)_ii Y z_i,
//
// and u_i is parallel to Y z_i.
//
// How it is done here. Every mode is first compressed to its leading r (or n3, if fewer) singular directions,
// so X and Y are r x r and the noise outside the signal is gone; the pencil (X, Y) is solved by the QZ
// algorithm, never by an inverse; s_i v_i (x) w_i is then row i of the least-squares solution of U Z = T, cut
// to rank one. A complex pair, which only noise makes, gives the real and imaginary parts of its vector. The
// random contraction decides how far the eigenvalues lie apart, so several are tried and the one that leaves
// the least of T is kept.
//
// Cost: one SVD a mode, then O(r^3 (r + n3)) a trial.
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/papers/depth2.h"
#include "papers/depth2/rank_one_terms.h"

namespace exhume {

// Throws std::invalid_argument where the slices do not fit together or rank exceeds n1 or n2. Rank
// 0 gives no terms.
[[nodiscard]] RankOneTerms jennrich(const std::vector<Matrix>& slices, Index rank,
                                    const JennrichOptions& options = {});

}  // namespace exhume
