// Vectors of a span of z_i z_i^T from two random members (paper symmetric, Algorithm 2, steps 7 and 8).
//
// The rows of Z being the z_i (k of them in R^k),
//
//     X = Z^T D_X Z,   Y = Z^T D_Y Z     =>     X Y^-1 z_i = (D_X / D_Y)_ii z_i.
//
// Solved as the generalised eigenproblem X w = t Y w, z = Y w, which never inverts Y. O(k^3).
// Exact on an exact span; under sampling noise by far the worst of the methods, since neighbouring
// ratios mix their vectors.
#pragma once

#include <cstdint>

#include "exhume/types.h"

namespace exhume {

// `basis`: p x k, coordinates of symmetric_matrix.h with p = k(k+1)/2. Returns k x k, unit columns. Where
// noise makes eigenvalues complex, the real part of the vector is taken.
[[nodiscard]] Matrix random_pair_vectors(const Matrix& basis, std::uint64_t seed);

}  // namespace exhume
