#include "decompose/random_pair.h"

#include <Eigen/Eigenvalues>

#include "exhume/base/random.h"
#include "exhume/linalg/symmetric_matrix.h"

namespace exhume {

Matrix random_pair_vectors(const Matrix& basis, std::uint64_t seed) {
  const Index k = basis.cols();
  const Matrix mix = Stream(seed, "random pair").normal_matrix(k, 2);
  const Matrix X = from_coordinates(basis * mix.col(0)), Y = from_coordinates(basis * mix.col(1));
  const Eigen::GeneralizedEigenSolver<Matrix> solver(X, Y);
  Matrix Z = Y * solver.eigenvectors().real();
  for (Index i = 0; i < Z.cols(); ++i) {
    const double norm = Z.col(i).norm();
    Z.col(i) = norm > 0 ? Vector(Z.col(i) / norm) : Vector(Vector::Unit(Z.rows(), i % Z.rows()));
  }
  return Z;
}

}  // namespace exhume
