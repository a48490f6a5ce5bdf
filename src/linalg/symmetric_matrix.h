// Symmetric matrices as vectors, so that a subspace of them is a subspace of R^p.
//
// A symmetric d x d matrix M has p = d(d+1)/2 free entries. Its coordinates are listed by columns of the
// upper triangle, (0,0), (0,1), (1,1), (0,2), ..., with off-diagonal entries times sqrt(2), so that the dot
// product of coordinates is the Frobenius product of matrices. This one order is used everywhere.
#pragma once

#include <cmath>

#include "exhume/types.h"

namespace exhume {

// d(d+1)/2, and the position of entry (a, b) with a <= b.
[[nodiscard]] constexpr Index symmetric_size(Index d) { return d * (d + 1) / 2; }
[[nodiscard]] constexpr Index symmetric_position(Index a, Index b) { return b * (b + 1) / 2 + a; }

// Coordinates of a symmetric matrix, and back.
[[nodiscard]] Vector to_coordinates(const Matrix& symmetric);
[[nodiscard]] Matrix from_coordinates(const Eigen::Ref<const Vector>& coordinates);

// Coordinates of (v w^T + w v^T)/2.
[[nodiscard]] Vector pair_coordinates(const Vector& v, const Vector& w);

// Coordinates of v v^T, into out[0 .. p). The kernel under the moments.
void rank_one_coordinates(const double* v, Index d, double* out);

// The same for every column v of V: p x (columns of V).
[[nodiscard]] Matrix rank_one_coordinates(const Eigen::Ref<const Matrix>& V);

// Coordinates of x x^T for every row x of X, one row each: rows x p. X column-major.
void quadratic_features(const Eigen::Ref<const Matrix>& X, Eigen::Ref<Matrix> features);

}  // namespace exhume
