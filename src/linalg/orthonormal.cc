#include "linalg/orthonormal.h"

#include <Eigen/QR>

namespace exhume {

Matrix orthonormal_columns(const Matrix& M, Index count) {
  const Eigen::HouseholderQR<Matrix> qr(M);
  return qr.householderQ() * Matrix::Identity(M.rows(), count);
}

Matrix orthonormal_basis(const Matrix& M) { return Eigen::HouseholderQR<Matrix>(M).householderQ(); }

}  // namespace exhume
