#include "decompose/joint_diagonalisation.h"

#include <Eigen/LU>
#include <cmath>
#include <vector>

#include "linalg/symmetric_matrix.h"

namespace exhume {
namespace {

// Rotates all matrices in the plane (p, q); V collects the rotations. Returns the sine of the angle.
double rotate(std::vector<Matrix>& B, Matrix& V, Index p, Index q) {
  double ton = 0, toff = 0;
  for (const Matrix& M : B) {
    const double difference = M(p, p) - M(q, q), sum = 2 * M(p, q);
    ton += difference * difference - sum * sum;
    toff += 2 * difference * sum;
  }
  const double angle = 0.5 * std::atan2(toff, ton + std::hypot(ton, toff));
  const double c = std::cos(angle), s = std::sin(angle);
  if (std::abs(s) < 1e-14) return 0;
  const auto turn_rows = [&](Matrix& M) {
    const Vector up = M.row(p), uq = M.row(q);
    M.row(p) = c * up + s * uq;
    M.row(q) = c * uq - s * up;
  };
  for (Matrix& M : B) {
    turn_rows(M);
    const Vector up = M.col(p), uq = M.col(q);
    M.col(p) = c * up + s * uq;
    M.col(q) = c * uq - s * up;
  }
  turn_rows(V);
  return std::abs(s);
}

}  // namespace

Matrix joint_diagonalisation_vectors(const Matrix& basis, const JointDiagonalisationOptions& options) {
  std::vector<Matrix> B;
  for (Index j = 0; j < basis.cols(); ++j) B.push_back(from_coordinates(basis.col(j)));
  const Index k = B.front().rows();
  Matrix V = Matrix::Identity(k, k);
  for (int sweep = 0; sweep < options.jacobi_sweeps; ++sweep) {
    double largest = 0;
    for (Index q = 1; q < k; ++q) {
      for (Index p = 0; p < q; ++p) largest = std::max(largest, rotate(B, V, p, q));
    }
    if (largest < 1e-12) break;
  }
  constexpr double kMostStep = 0.9;  // keeps I + E invertible
  Matrix diagonals(k, static_cast<Index>(B.size()));
  for (int sweep = 0; sweep < options.max_sweeps; ++sweep) {
    for (std::size_t j = 0; j < B.size(); ++j) diagonals.col(static_cast<Index>(j)) = B[j].diagonal();
    const Matrix z = diagonals * diagonals.transpose();
    Matrix y = Matrix::Zero(k, k);  // y_ij = sum over matrices of D_jj B_ij
    for (const Matrix& M : B) y += M * M.diagonal().asDiagonal();
    y -= Matrix(y.diagonal().asDiagonal());
    Matrix E = Matrix::Zero(k, k);
    for (Index j = 1; j < k; ++j) {
      for (Index i = 0; i < j; ++i) {
        const double determinant = z(i, i) * z(j, j) - z(i, j) * z(i, j);
        if (!(determinant > 1e-14 * z(i, i) * z(j, j))) continue;
        E(i, j) = (z(i, j) * y(j, i) - z(i, i) * y(i, j)) / determinant;
        E(j, i) = (z(i, j) * y(i, j) - z(j, j) * y(j, i)) / determinant;
      }
    }
    const double size = E.norm();
    if (size > kMostStep) E *= kMostStep / size;
    E.diagonal().array() += 1;
    V = E * V;
    for (Matrix& M : B) M = E * M * E.transpose();
    // Scales are free: keep the rows of V of unit norm so that nothing runs away.
    const Vector scale = V.rowwise().norm().cwiseMax(kTiny).cwiseInverse();
    V = scale.asDiagonal() * V;
    for (Matrix& M : B) M = scale.asDiagonal() * M * scale.asDiagonal();
    if (size < options.tolerance) break;
  }
  Matrix Z = V.partialPivLu().inverse();
  for (Index i = 0; i < k; ++i) Z.col(i) /= std::max(Z.col(i).norm(), kTiny);
  return Z;
}

}  // namespace exhume
