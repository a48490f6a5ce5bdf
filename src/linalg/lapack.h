// LAPACK's factorisations, for what Eigen has no counterpart or a slower one. Column-major.
//
//   potrf   A = L L^T                          potrs   B <- A^-1 B       potri   L <- A^-1
//   pstrf   P^T A P = L L^T, complete pivoting
//   geqp3   A P = Q R, column pivoting         ormqr   C <- Q C
//   ggev    beta A z = alpha B z, all z        gesdd   A = U S V^T
//
// Of symmetric matrices the lower triangle alone is read and written. Every function returns LAPACK's info:
// 0, or the number (from 1) of the column at which it failed. The prototypes are those of <lapacke.h>, the
// routines OpenBLAS's own: Debian's OpenBLAS is built without LAPACKE's C functions, and liblapacke would
// bring a second LAPACK into the process.
#pragma once

#include <vector>

#include "exhume/types.h"

namespace exhume::lapack {

[[nodiscard]] int potrf(Eigen::Ref<Matrix> a);
int potri(Eigen::Ref<Matrix> factor);
int potrs(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Matrix> b);

// pivots[j] - 1: which row of A is row j of the factor. Stops where the largest pivot left is at most
// `tolerance`, with the rank in `rank` and a positive info.
int pstrf(Eigen::Ref<Matrix> a, double tolerance, std::vector<int>& pivots, int& rank);

// R above the diagonal of `a`, reflectors below; pivots[j] - 1: which column of A is column j of Q R.
[[nodiscard]] int geqp3(Eigen::Ref<Matrix> a, std::vector<int>& pivots, Vector& tau);
// Q from geqp3's reflectors: the leading tau.size() of `a`.
int ormqr(const Eigen::Ref<const Matrix>& a, const Vector& tau, Eigen::Ref<Matrix> c);

// Singular values, decreasing; U and V^T thin, or both square where `whole`. A is overwritten. Positive info:
// it did not converge; negative: A holds what is not a number.
[[nodiscard]] int gesdd(Matrix& a, bool whole, Vector& values, Matrix& U, Matrix& VT);

// Real and imaginary parts apart; of a pair of conjugates the one with Im alpha > 0 comes first.
struct Pencil {
  Vector alpha, alpha_imaginary, beta;
  Matrix Z, Z_imaginary;
};
// Of square matrices of one size. Positive info: QZ did not converge.
[[nodiscard]] int ggev(Matrix a, Matrix b, Pencil& pencil);

}  // namespace exhume::lapack
