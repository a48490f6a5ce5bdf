#include "extract/last_digits.h"

#include <Eigen/Dense>
#include <cmath>

namespace exhume {
namespace {

constexpr int kSteps = 2;
constexpr double kMostWork = 3e11;  // n m p^2
// A step that raises the sum of squares by more than this factor is not taken.
constexpr double kMostRise = 1.1;

// Rows i m + o; unknowns unit by unit: w without its largest entry, b, c; then L^T and e.
struct Linearised {
  Matrix J;
  Vector residual;
};

Linearised linearise(const SeparableModel& model, const RowMatrix& u, const RowMatrix& y, const Vector& noise,
                     const std::vector<Index>& fixed) {
  const Index n = u.rows(), s = u.cols(), m = y.cols(), k = model.units(), each = s + m;
  Linearised out{Matrix::Zero(n * m, k * each + (s + 1) * m), Vector(n * m)};
  const RowMatrix left = y - evaluate(model, u);
  Matrix z = u * model.V.leftCols(s).transpose();
  z.rowwise() += model.V.col(s).transpose();
  for (Index i = 0; i < n; ++i) {
    const double weight = 1 / noise(i);
    for (Index o = 0; o < m; ++o) {
      const Index row = i * m + o;
      out.residual(row) = weight * left(i, o);
      for (Index j = 0; j < k; ++j) {
        const Index at = j * each, skip = fixed[static_cast<std::size_t>(j)];
        const double slope = weight * model.C(j, o) * (z(i, j) < 0 ? -1 : 1);
        for (Index a = 0, column = at; a < s; ++a) {
          if (a != skip) out.J(row, column++) = slope * u(i, a);
        }
        out.J(row, at + s - 1) = slope;
        out.J(row, at + s + o) = weight * std::abs(z(i, j));
      }
      for (Index a = 0; a < s; ++a) out.J(row, k * each + a * m + o) = weight * u(i, a);
      out.J(row, k * each + s * m + o) = weight;
    }
  }
  return out;
}

SeparableModel moved(const SeparableModel& model, const Vector& step, const std::vector<Index>& fixed) {
  const Index s = model.inputs(), m = model.C.cols(), k = model.units(), each = s + m;
  SeparableModel out = model;
  for (Index j = 0; j < k; ++j) {
    const Index at = j * each;
    for (Index a = 0, column = at; a < s; ++a) {
      if (a != fixed[static_cast<std::size_t>(j)]) out.V(j, a) += step(column++);
    }
    out.V(j, s) += step(at + s - 1);
    out.C.row(j) += step.segment(at + s, m).transpose();
  }
  for (Index a = 0; a <= s; ++a) out.C.row(k + a) += step.segment(k * each + a * m, m).transpose();
  return out;
}

double weighted_squares(const SeparableModel& model, const RowMatrix& u, const RowMatrix& y,
                        const Vector& noise) {
  return (noise.cwiseInverse().asDiagonal() * (y - evaluate(model, u))).squaredNorm();
}

}  // namespace

SeparableModel with_last_digits(const SeparableModel& model, const RowMatrix& u, const RowMatrix& y,
                                const Vector& noise, const Control& control) {
  const Index n = u.rows(), s = u.cols(), m = y.cols(), k = model.units();
  const auto p = static_cast<double>(k * (s + m) + (s + 1) * m);
  const auto rows = static_cast<double>(n * m);
  if (k == 0 || rows < p || rows * p * p > kMostWork) return model;
  SeparableModel best = model;
  double left = weighted_squares(best, u, y, noise);
  for (int step = 0; step < kSteps; ++step) {
    control.check();
    std::vector<Index> fixed(static_cast<std::size_t>(k));
    for (Index j = 0; j < k; ++j)
      best.V.row(j).head(s).cwiseAbs().maxCoeff(&fixed[static_cast<std::size_t>(j)]);
    Linearised at = linearise(best, u, y, noise, fixed);
    const Vector norms = at.J.colwise().norm().cwiseMax(kTiny);
    at.J = at.J * norms.cwiseInverse().asDiagonal();
    const Eigen::HouseholderQR<Eigen::Ref<Matrix>> qr(at.J);
    const Vector solved = qr.solve(at.residual);
    if (!solved.allFinite()) break;
    SeparableModel next = moved(best, norms.cwiseInverse().asDiagonal() * solved, fixed);
    const double value = weighted_squares(next, u, y, noise);
    if (!(value <= kMostRise * left)) break;
    best = std::move(next);
    left = value;
  }
  for (Index j = 0; j < k; ++j) {
    const double norm = best.V.row(j).head(s).norm();
    best.V.row(j) /= norm;
    best.C.row(j) *= norm;
  }
  return best;
}

}  // namespace exhume
