// Orthonormal columns by Householder reflections, M = Q R, compiled once.
#pragma once

#include "exhume/types.h"

namespace exhume {

// The first `count` columns of Q: an orthonormal basis of the span of M's, where these are independent.
[[nodiscard]] Matrix orthonormal_columns(const Matrix& M, Index count);
// All of Q, square: the columns beyond those of M span the complement.
[[nodiscard]] Matrix orthonormal_basis(const Matrix& M);

}  // namespace exhume
