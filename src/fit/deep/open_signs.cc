#include "fit/deep/open_signs.h"

#include <Eigen/Dense>
#include <algorithm>
#include <vector>

#include "model/form.h"
#include "fit/deep/sign_halves.h"
#include "fit/sign_lattice.h"

namespace exhume {
namespace {

constexpr double kEquationsMet = 1e-6;  // of their norm, by signs that are right
constexpr Index kNobody = -1;

// For every input the unit whose weight it leaves open, or nobody; nothing where it is more than one.
std::optional<std::vector<Index>> open_at(const Form& form, const Eigen::Ref<const RowMatrix>& h) {
  const FormRows rows(form, h);
  const Matrix above = (rows.Q(0).array() > 0).cast<double>(), below = 1 - above.array();
  const Matrix active = (h.array() != 0).cast<double>();
  // Rows on which unit j is on that side and input a is not zero.
  const Matrix on = above.transpose() * active, off = below.transpose() * active;
  std::vector<Index> open(static_cast<std::size_t>(h.cols()), kNobody);
  for (Index j = 0; j < on.rows(); ++j) {
    for (Index a = 0; a < on.cols(); ++a) {
      if (std::min(on(j, a), off(j, a)) > 0) continue;
      if (open[static_cast<std::size_t>(a)] != kNobody) return std::nullopt;
      open[static_cast<std::size_t>(a)] = j;
    }
  }
  return open;
}

}  // namespace

std::optional<Vector> signs_that_solve(const Matrix& M, const Vector& right, double error) {
  const Index k = M.cols();
  // Independent equations, in an orthonormal basis of what they say: as many as there are, no more than signs.
  const Eigen::BDCSVD<Matrix> svd(M, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Index rank = (svd.singularValues().array() > kEquationsMet * svd.singularValues()(0)).count();
  const Matrix basis = svd.matrixV().leftCols(rank).transpose();
  const Vector said = svd.singularValues().head(rank).cwiseInverse().asDiagonal() *
                      (svd.matrixU().leftCols(rank).transpose() * right);
  if (rank < k) {
    if (const std::optional<SignPoint> point = only_signs(basis, said, error)) return point->signs;
    return signs_by_halves(basis, said, error);
  }
  const Vector s = basis.transpose() * said;
  return Vector((s.array() < 0).select(Vector::Constant(k, -1), Vector::Ones(k)));
}

std::optional<OpenSigns> signs_with_open_weights(const Form& form, const Eigen::Ref<const RowMatrix>& h) {
  const Index k = form.V[0].rows(), m = form.C.cols();
  const std::optional<std::vector<Index>> open = open_at(form, h);
  if (!open) return std::nullopt;
  std::vector<Index> told, others;
  for (Index a = 0; a < h.cols(); ++a)
    ((*open)[static_cast<std::size_t>(a)] == kNobody ? told : others).push_back(a);
  if (others.empty() || told.empty()) return std::nullopt;
  const Matrix U = form.C.topRows(k).transpose(), R = form.C.bottomRows(h.cols() + 1).transpose();
  const Matrix& V = form.V[0];
  Matrix M(m * static_cast<Index>(told.size()), k);
  Vector right(M.rows());
  Index at = 0;
  for (Index o = 0; o < m; ++o) {
    for (const Index a : told) {
      const double norm = std::max(U.row(o).norm(), kTiny);
      M.row(at) = U.row(o).cwiseProduct(V.col(a).transpose()) / norm;
      right(at++) = R(o, a) / norm;
    }
  }
  const std::optional<Vector> signs = signs_that_solve(M, right, kEquationsMet);
  if (!signs) return std::nullopt;
  OpenSigns out;
  out.s = *signs;
  out.V = V;
  for (const Index a : others) {
    const Index j = (*open)[static_cast<std::size_t>(a)];
    const Vector missing = R.col(a) - U * out.s.cwiseProduct(V.col(a));
    // Another weight changes |q| on the other side, and R by as much against it: twice.
    const Vector u = 2 * out.s(j) * U.col(j);
    out.V(j, a) += missing.dot(u) / std::max(u.squaredNorm(), kTiny);
  }
  return out;
}

}  // namespace exhume
