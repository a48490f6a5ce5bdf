#include "fit/deep/signs.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace exhume {
namespace {

// Smallest singular value of the system, columns of unit norm, from which on it counts as regular.
constexpr double kRegular = 1e-6;

constexpr int kReweighted = 20;
constexpr double kObeys = 1e-9;  // of a row's norm

}  // namespace

LayerSigns least_squares_signs(const Matrix& V, const Matrix& U, const Matrix& R) {
  LayerSigns out;
  const Index k = V.rows(), c = V.cols() - 1;
  if (k == 0) {
    out.smallest_singular = 1;
    return out;
  }
  const Matrix v = V.leftCols(c);
  // Column j is the matrix U_j v_j as a vector: normal equations without forming it.
  Matrix N = (U.transpose() * U).cwiseProduct(v * v.transpose());
  const Vector scale = N.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  const Vector right = (U.transpose() * R.leftCols(c) * v.transpose()).diagonal();
  N = scale.asDiagonal() * N * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(N);
  out.smallest_singular = std::sqrt(std::max(eigen.eigenvalues()(0), 0.0));
  const Vector inverse = eigen.eigenvalues().cwiseMax(1e-14).cwiseInverse();
  out.s = scale.asDiagonal() * (eigen.eigenvectors() * inverse.asDiagonal() *
                                eigen.eigenvectors().transpose() * (scale.asDiagonal() * right));
  out.off = (out.s.cwiseAbs().array() - 1).abs().maxCoeff();
  const Vector sign = (out.s.array() < 0).select(Vector::Constant(k, -1), Vector::Ones(k));
  out.residual = (R.leftCols(c) - U * sign.asDiagonal() * v).norm() / std::max(R.leftCols(c).norm(), kTiny);
  return out;
}

LayerSigns robust_signs(const Matrix& V, const Matrix& U, const Matrix& R) {
  LayerSigns out = least_squares_signs(V, U, R);
  const Index c = V.cols() - 1;
  const Vector norms = R.leftCols(c).rowwise().norm().cwiseMax(kTiny);
  for (int i = 0; i < kReweighted && V.rows() > 0; ++i) {
    const Matrix off = R.leftCols(c) - U * out.s.asDiagonal() * V.leftCols(c);
    const Vector weight = (off.rowwise().norm().cwiseQuotient(norms).array() + kObeys).rsqrt();
    out = least_squares_signs(V, weight.asDiagonal() * U, weight.asDiagonal() * R);
  }
  return out;
}

DeepSigns find_signs(const Form& sign_free, double tolerance) {
  DeepSigns out;
  out.plain = out.determined = true;
  Form& plain = out.form;
  plain.plain = true;
  plain.inputs = sign_free.inputs;
  const std::size_t depth = sign_free.depth();
  Matrix row = sign_free.V.empty() ? Matrix(sign_free.C.transpose()) : sign_free.V[0];
  for (std::size_t l = 0; l < depth; ++l) {
    const Matrix& v = sign_free.V[l];
    const Matrix above = l + 1 < depth ? sign_free.V[l + 1] : Matrix(sign_free.C.transpose());
    const Index k = v.rows();
    const Matrix U = above.leftCols(k), R = above.rightCols(above.cols() - k);
    LayerSigns signs = least_squares_signs(v, U, R);
    if (k == 0) {  // nothing but the constant is passed on, and BLAS complains of empty products
      plain.V.emplace_back(0, row.cols());
      row = R.rightCols(1);
      out.layers.push_back(std::move(signs));
      continue;
    }
    out.determined = out.determined && signs.smallest_singular >= kRegular;
    out.plain = out.plain && signs.off <= tolerance && signs.residual <= tolerance;
    const Vector s = (signs.s.array() < 0).select(Vector::Constant(k, -1), Vector::Ones(k));
    plain.V.emplace_back(s.asDiagonal() * row);
    // On h = (s q + |q|) / 2: U |q| + R P = 2 U h + (R - U s v) P, and of the last only the constant is left.
    row.resize(above.rows(), k + 1);
    row.leftCols(k) = 2 * U;
    row.rightCols(1) = R.rightCols(1) - U * s.asDiagonal() * v.rightCols(1);
    out.layers.push_back(std::move(signs));
  }
  plain.C = row.transpose();
  out.plain = out.plain && out.determined;
  return out;
}

}  // namespace exhume
