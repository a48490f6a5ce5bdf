// Smoothed analysis: a network whose weights are moved a little at random (paper depth2, Appendix E).
//
//     W'_ij = W_ij + g_ij,   g_ij ~ N(0, tau^2 / d),     so a row moves by about tau
//
// A network that an adversary made degenerate (dependent rows, dependent powers of rows) becomes one with
//
//     s_k(W^(.)l) >= (tau / d)^O(l)     with high probability, for k <= (1 - delta) (d+l-1 choose l)
//
// (Corollary 3.3), W^(.)l the matrix whose columns are w_i (x) ... (x) w_i, l times (Khatri-Rao power). The
// print leaves the rows as they fall; here they get unit norm again, with the scale s = |w'_i| moved to a_i s
// and b_i / s: the same function.
#pragma once

#include <cstdint>

#include "exhume/network.h"

namespace exhume {

// Throws std::invalid_argument unless tau is finite and at least 0.
[[nodiscard]] Network perturbed(const Network& network, double tau, std::uint64_t seed);

// The singular values of the Khatri-Rao power l of the rows of W, scaled to unit norm:
// min(k, (d+l-1 choose l)) of them, decreasing, and zeros up to k.
[[nodiscard]] Vector khatri_rao_singular_values(const Matrix& W, int power);

}  // namespace exhume
