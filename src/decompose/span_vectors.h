// From a span of z_1 z_1^T, ..., z_k z_k^T to the z_i, by a method of one's choice.
//
//   power          subspace power method (subspace.h): the default, accurate under noise, and the only one
//                  that does not need as many vectors as dimensions; slow where two vectors are nearly
//                  parallel, so whiten first
//   random-pair    two random members, generalised eigenvectors (decompose/random_pair.h)
//   als            CP decomposition of random members (decompose/span_als.h)
//   joint-diagonalisation   of a whole basis (decompose/joint_diagonalisation.h)
#pragma once

#include <cstdint>

#include "exhume/papers/symmetric.h"

namespace exhume {

// `basis`: p x k, orthonormal columns, p = k(k+1)/2. Returns k x (number found), unit columns; only the power
// method may find fewer than k.
[[nodiscard]] Matrix span_vectors(const Matrix& basis, SpanMethod method, std::uint64_t seed);

}  // namespace exhume
