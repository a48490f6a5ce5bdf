#include "fit/deep/nearly_linear.h"

#include <Eigen/Dense>

#include "fit/deep/open_signs.h"

namespace exhume {
namespace {

constexpr Index kLeastRows = 2;          // with which the free bias leaves an equation
constexpr double kOneDirection = 1e-6;   // what is left across alpha, of what is left along it
constexpr double kEquationsTrue = 1e-9;  // of their norm, by signs that are right
constexpr Index kMostLeft = 12;          // of which each may be there for another reason

// All of these rows are those on which the unit is off.
std::optional<Matrix> with_unit_off_on(const Form& form, const DeepData& left) {
  const Index k = form.V[0].rows(), c = form.V[0].cols() - 1, m = form.C.cols(), rows = left.rows();
  if (rows < kLeastRows || k == 0) return std::nullopt;
  const Matrix E = left.y - evaluate(form, left.x);
  const Eigen::SelfAdjointEigenSolver<Matrix> outputs(Matrix(E.transpose() * E));
  const Vector squares = outputs.eigenvalues();  // increasing
  if (m > 1 && !(squares(m - 2) < kOneDirection * kOneDirection * squares(m - 1))) return std::nullopt;
  const Vector alpha = outputs.eigenvectors().col(m - 1);
  const Matrix U = form.C.topRows(k).transpose(), R = form.C.middleRows(k, c).transpose();
  const Matrix V = form.V[0].leftCols(c);
  const Vector mean = left.x.colwise().mean().transpose(), along = E * alpha;
  const Matrix centred = left.x.rowwise() - mean.transpose();
  Matrix M(rows + (m - 1) * c, k);
  Vector right(M.rows());
  M.topRows(rows) = centred * V.transpose() * Vector(U.transpose() * alpha).asDiagonal();
  right.head(rows) = centred * (R.transpose() * alpha) + Vector(along.array() - along.mean());
  for (Index o = 0; o + 1 < m; ++o) {
    const Vector e = outputs.eigenvectors().col(o);
    M.middleRows(rows + o * c, c) = V.transpose() * Vector(U.transpose() * e).asDiagonal();
    right.segment(rows + o * c, c) = R.transpose() * e;
  }
  const std::optional<Vector> s = signs_that_solve(M, right, kEquationsTrue);
  if (!s) return std::nullopt;
  const Vector w = (R - U * s->asDiagonal() * V).transpose() * alpha;
  const double b = -along.mean() - w.dot(mean);
  // Off on all of these rows: its turn.
  const Vector z = (left.x * w).array() + b;
  if (z.minCoeff() < 0 && z.maxCoeff() > 0) return std::nullopt;
  Matrix out(k + 1, c + 1);
  out.topRows(k) = s->asDiagonal() * form.V[0];
  out.bottomRows(1) << w.transpose(), b;
  if (z.sum() > 0) out.bottomRows(1) *= -1;
  return out;
}

}  // namespace

std::optional<Matrix> with_nearly_linear_unit(const Form& form, const DeepData& left) {
  std::optional<Matrix> out = with_unit_off_on(form, left);
  if (left.rows() > kMostLeft) return out;
  // One of them may show something else: a weight that the other rows leave open, say.
  for (Index i = 0; i < left.rows() && !out; ++i) {
    DeepData others = left;
    static_cast<void>(others.take_out({i}));
    out = with_unit_off_on(form, others);
  }
  return out;
}

}  // namespace exhume
