#include "decompose/random_pair.h"

#include "base/random.h"
#include "linalg/lapack.h"
#include "linalg/symmetric_matrix.h"

namespace exhume {

Matrix random_pair_vectors(const Matrix& basis, std::uint64_t seed) {
  const Index k = basis.cols();
  const Matrix mix = Stream(seed, "random pair").normal_matrix(k, 2);
  const Matrix X = from_coordinates(basis * mix.col(0)), Y = from_coordinates(basis * mix.col(1));
  lapack::Pencil pencil;
  if (lapack::ggev(X, Y, pencil) != 0) pencil.Z.setZero(X.rows(), X.cols());
  Matrix Z = Y * pencil.Z;
  for (Index i = 0; i < Z.cols(); ++i) {
    const double norm = Z.col(i).norm();
    Z.col(i) = norm > 0 ? Vector(Z.col(i) / norm) : Vector(Vector::Unit(Z.rows(), i % Z.rows()));
  }
  return Z;
}

}  // namespace exhume
