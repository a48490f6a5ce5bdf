// Gaussian inputs: directions of all units from residualised Hermite moments (paper depth2, made practical).
//
//     E[y_o He_j(x)] = sum_i A_oi (-1)^j He_{j-2}(b_i) phi(b_i) w_i^(x)j,     j >= 2       (Lemma 3.5)
//
//     y: m outputs     x: d standardised inputs     w_i: d, unit norm     A: m x k     b: k
//
// Flattened to p x (anything), p = d(d+1)/2, every order has its columns in span{vech(w_i w_i^T)}. So the
// orders are stacked side by side, each divided by its sampling noise, and the rank-one elements of the span
// are the directions (decompose/subspace.h). Order 2 spans it where there are at least k outputs; orders 3
// and 4 serve few outputs, one included. A unit is invisible at order 4 where |b| = 1 and at order 3 where
// b = 0, never at both (Lemma 4.3).
//
// What differs from the paper, and why:
//   residualised moments    plain ones need about a hundred times the samples (moments/polynomial_fit.h)
//   whitened outputs        by the covariance of the residual, so that A's condition number does not matter
//   the power method        Jennrich's random contraction amplifies the noise
// The paper's own algorithms are in papers/depth2/depth2_jennrich.h.
//
// Assumes standardised inputs (moments/standardise.h) and independent w_i w_i^T. Cost: order 2: n m p flops;
// orders 3 and 4: n m r^4 / 4 in the active subspace of dimension r <= min(d, k), never d^4 where r < d.
#pragma once

#include <cstdint>
#include <optional>

#include "decompose/subspace.h"
#include "exhume/control.h"
#include "exhume/samples.h"
#include "moments/partial_moments.h"
#include "moments/polynomial_fit.h"

namespace exhume {

struct Depth2Options {
  std::optional<Index> hidden;  // number of units, if known
  std::uint64_t seed = 0;
  double stack_bytes = 256e6;     // most memory for one copy of the fourth-order moments
  Index most_active = 64;         // largest active subspace in which orders 3 and 4 are formed
  Index most_active_there = 256;  // the same on a device
  double polynomial_tolerance = kPolynomialTolerance;  // of polynomial parts in orders 2 to 4
};

// A rough network: directions with their biases, in the coordinates of the samples.
struct SpectralStart {
  Matrix V;                // (number found) x (d+1), rows (w_i, b_i), |w_i| = 1, sign open
  Vector singular_values;  // of the stacked moments, decreasing
  double noise_floor = 0;  // what sampling noise alone shows
  Index above_noise = 0;   // number of units by the gap
  bool saturated = false;  // every singular value is above the noise: there may be more units
  Index active = 0;        // dimension of the subspace that was searched
};

// The samples with their outputs less the least-squares polynomial of this degree: Hermite moments of higher
// orders keep their expectation and lose most of their noise.
[[nodiscard]] SamplePtr residualised(const SamplePtr& samples, int degree, const Control& control,
                                     double tolerance = kPolynomialTolerance);

// Order 2 alone: for at least as many outputs as units.
[[nodiscard]] SpectralStart order2_start(const SamplePtr& standard, const Depth2Options& options,
                                         const Control& control);

// Orders 2, 3 and 4 of all outputs, in the active subspace.
[[nodiscard]] SpectralStart stacked_start(const SamplePtr& standard, const Depth2Options& options,
                                          const Control& control);

// The same from moments that were summed elsewhere (moments/partial_moments.h), up to the order they have;
// units in the user's coordinates.
[[nodiscard]] SpectralStart moments_start(const PartialMoments& moments, const Depth2Options& options,
                                          const Control& control);

// The subspace of inputs on which the outputs depend, as far as orders 1 and 2 stand out from the noise:
// d x r, orthonormal columns.
[[nodiscard]] Matrix active_subspace(const SamplePtr& standard, const Control& control);

// Biases for given directions (d x k, unit columns), the simple case of RecoverScalars:
//
//     b_i = -alpha_3i / alpha_2i,     sum_i alpha_ji (w_i.w_l)^j = E[r He_j(w_l.x)],     j = 2, 3
//
// r: the residual of a linear fit. With several outputs the least-squares ratio over them; cut at +-2.
[[nodiscard]] Vector recover_biases(const SamplePtr& standard, const Matrix& directions,
                                    const Control& control);

}  // namespace exhume
