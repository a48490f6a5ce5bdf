#include "linalg/svd.h"

#include <Eigen/SVD>

#include "base/blas.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

Svd decomposed(const Matrix& M, bool whole) {
  const SingleThreadedBlas single;
  Svd out;
  Matrix copy = M, VT;
  if (M.size() > 0 && lapack::gesdd(copy, whole, out.values, out.U, VT) == 0) {
    out.V = VT.transpose();
    return out;
  }
  const Eigen::JacobiSVD<Matrix> svd(
      M, whole ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {svd.matrixU(), svd.matrixV(), svd.singularValues()};
}

}  // namespace

Vector Svd::solve(const Vector& b, double least) const {
  const double zero = values.size() > 0 ? least * values(0) : 0;
  const Index rank = (values.array() > zero).count();
  return V.leftCols(rank) * values.head(rank).cwiseInverse().asDiagonal() *
         (U.leftCols(rank).transpose() * b);
}

Svd thin_svd(const Matrix& M) { return decomposed(M, false); }

// Where there are no fewer rows than columns the thin V is all of it, and U stays small.
Svd svd_with_null_space(const Matrix& M) { return decomposed(M, M.rows() < M.cols()); }

double spectral_norm(const Matrix& M) {
  if (M.size() == 0) return 0;
  return thin_svd(M).values(0);
}

}  // namespace exhume
