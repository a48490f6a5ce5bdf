// Rank-one elements of a subspace of symmetric matrices: the one primitive under most routes.
//
// Given S close to span{v_1 v_1^T, ..., v_k v_k^T}, find the unit vectors v_i (up to sign). With a
// Frobenius-orthonormal basis B_1..B_r of S,
//
//     F(x) = sum_j (x^T B_j x)^2 = |P_S(x x^T)|^2 <= 1 on the unit sphere,
//
// with equality exactly where x x^T lies in S. Climb F by the shifted power iteration
// x <- normalise(sum_j (x^T B_j x) B_j x + gamma x) from many random starts at once (each step is a matrix
// product), keep maxima near 1, drop repeats. Kileel and Pereira, arXiv:1912.04007; with noise: Kileel, Klock
// and Pereira, 2021. Needs only that the v_i v_i^T are independent, so k may exceed d, up to order d^2.
//
// A step costs 4 p r s flops for s starts, p = d(d+1)/2. Deterministic for a given seed.
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

class Device;  // engine/device.h

struct PowerOptions {
  std::uint64_t seed = 0;
  double shift = 0.3;  // gamma
  int max_iterations = 400;
  double tolerance = 1e-9;       // a start has converged when it moves less than this
  int starts_per_unit = 12;      // random starts, for every element wanted
  double accept = 0.5;           // least F of an element
  double repeat_cosine = 0.985;  // |cos| above which two maxima are the same element
};

struct RankOneElements {
  Matrix directions;  // d x (number found), unit columns, best F first
  Vector values;      // F of each
  Index starts = 0;   // random starts used
};

// Elements of the span of the columns of `basis` (p x r, orthonormal, coordinates of symmetric_matrix.h), by
// restarts; stops when `count` distinct ones were found or the starts are used up.
// The climb runs on `device` where there is one and it is worth the way.
[[nodiscard]] RankOneElements rank_one_by_restarts(const Matrix& basis, Index count,
                                                   const PowerOptions& options, Device* device = nullptr);

// Options for a basis that was estimated with error, `signal` its smallest kept singular value and `noise`
// the noise floor: many starts, because elements may be weak; a loose tolerance, since the subspace itself is
// not known better. By Wedin |P_S(vv^T)|^2 is about 1 - (noise/signal)^2 at least; `accept` leaves a margin,
// 1 - 1.5 (noise/signal)^2, clamped to [0.3, 0.95].
[[nodiscard]] PowerOptions estimated_span_options(double signal, double noise, std::uint64_t seed);

// Is |cos| between v and some column of `directions` above `cosine`? All of unit norm.
[[nodiscard]] bool among_directions(const Matrix& directions, const Vector& v, double cosine);

// How many singular values stand out from the noise, and the subspace of the leading ones.
struct LeadingSubspace {
  Matrix basis;            // p x r, orthonormal
  Vector singular_values;  // all of them, decreasing
  double noise_floor = 0;  // largest singular value that the noise alone shows
  Index above_noise = 0;   // number of singular values above it
};

// From moments stacked side by side, T (p x q), and `noise` (p x q) distributed like the error of T. Keeps
// `count` directions, or those above the noise where count < 0.
[[nodiscard]] LeadingSubspace leading_subspace(const Matrix& T, const Matrix& noise, Index count);

}  // namespace exhume
