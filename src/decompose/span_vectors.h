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
#include <string_view>

#include "exhume/types.h"

namespace exhume {

enum class SpanMethod { kPower, kRandomPair, kAls, kJointDiagonalisation };
[[nodiscard]] const char* to_string(SpanMethod method);
// "power", "random-pair", "als" or "joint-diagonalisation"; anything else throws std::invalid_argument.
[[nodiscard]] SpanMethod parse_span_method(std::string_view name);

// `basis`: p x k, orthonormal columns, p = k(k+1)/2. Returns k x (number found), unit columns; only the power
// method may find fewer than k.
[[nodiscard]] Matrix span_vectors(const Matrix& basis, SpanMethod method, std::uint64_t seed);

}  // namespace exhume
