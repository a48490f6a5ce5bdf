// The singular value decomposition: M = U diag(values) V^T, values decreasing. LAPACK's dgesdd, since BDCSVD
// of Eigen 3.4.0 reads beyond its arrays for some matrices. Jacobi's method where dgesdd does not converge,
// and for M that holds what is not a number.
#pragma once

#include "exhume/types.h"

namespace exhume {

struct Svd {
  Matrix U, V;
  Vector values;
  // The least x with the least |M x - b|; values up to `least` times the largest count as zero.
  [[nodiscard]] Vector solve(const Vector& b, double least) const;
};
[[nodiscard]] Svd thin_svd(const Matrix& M);
// The same with all of V, n x n for n columns: what M maps to zero too.
[[nodiscard]] Svd svd_with_null_space(const Matrix& M);
// Largest singular value; 0 for an empty matrix.
[[nodiscard]] double spectral_norm(const Matrix& M);

}  // namespace exhume
