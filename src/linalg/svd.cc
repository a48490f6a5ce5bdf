#include "linalg/svd.h"

#include <Eigen/SVD>

namespace exhume {

Svd thin_svd(const Matrix& M) {
  const Eigen::BDCSVD<Matrix> svd(M, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {svd.matrixU(), svd.matrixV(), svd.singularValues()};
}

double spectral_norm(const Matrix& M) {
  if (M.size() == 0) return 0;
  return thin_svd(M).values(0);
}

}  // namespace exhume
