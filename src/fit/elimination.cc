#include "fit/elimination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "fit/sums.h"

namespace exhume {
namespace {

// Of scaled columns: what doubles leave of depending ones.
constexpr double kRidge = 1e-12, kRidgeOfDerivatives = 1e-13;

}  // namespace

Elimination::Elimination(const Matrix& gram, Matrix C, std::vector<std::vector<Index>> groups)
    : inverse_(inverse_scaled(gram)),
      C_(std::move(C)),
      groups_(std::move(groups)),
      gone_(groups_.size(), false) {}

Matrix Elimination::block(Index group) const {
  const std::vector<Index>& at = groups_[static_cast<std::size_t>(group)];
  return inverse_(at, at);
}

Matrix Elimination::rows_of_C(Index group) const {
  return C_(groups_[static_cast<std::size_t>(group)], Eigen::all);
}

Vector Elimination::worth() const {
  Vector worth(static_cast<Index>(groups_.size()));
  for (Index g = 0; g < worth.size(); ++g) {
    worth(g) = std::numeric_limits<double>::infinity();
    if (gone_[static_cast<std::size_t>(g)]) continue;
    const Matrix c = rows_of_C(g), solved = solve_scaled(block(g), c);
    if (solved.isZero(0) && !c.isZero(0)) continue;  // not definite any more: lost to rounding, it stays
    worth(g) = c.cwiseProduct(solved).sum();
    if (!std::isfinite(worth(g))) worth(g) = 0;  // a unit without slope: the others replace it
  }
  return worth;
}

void Elimination::remove(Index group) {
  const std::vector<Index>& at = groups_[static_cast<std::size_t>(group)];
  const Matrix columns = inverse_(Eigen::all, at);
  const Matrix half = solve_scaled(block(group), columns.transpose());
  C_ -= half.transpose() * rows_of_C(group);
  inverse_.noalias() -= columns * half;
  gone_[static_cast<std::size_t>(group)] = true;
}

std::vector<Index> Elimination::remove_spare(double allowed, Index least) {
  std::vector<Index> went;
  double spent = 0;
  for (auto left = static_cast<Index>(groups_.size()); left > least; --left) {
    Index cheapest = 0;
    spent += std::max(worth().minCoeff(&cheapest), 0.0);
    if (!(spent <= allowed)) break;
    remove(cheapest);
    went.push_back(cheapest);
  }
  return went;
}

Elimination features_of_units(const Form& form, const SampleSource& rows, const Control& control) {
  LinearSums sums = linear_sums(form, rows, kBlockRows, control);
  sums.FF.diagonal() *= 1 + kRidge;
  std::vector<std::vector<Index>> groups;
  for (Index j = 0; j < form.units(); ++j) groups.push_back({j});
  return {sums.FF, solve_scaled(sums.FF, sums.FY), std::move(groups)};
}

Elimination linearised_units(const Form& form, const SampleSource& rows, const Control& control) {
  const Index k = form.units(), width = form.inputs + 1, q = form.features(), P = k * width;
  NormalSums sums = normal_sums(form, rows, kBlockRows, control);
  sums.GG.triangularView<Eigen::StrictlyUpper>() = sums.GG.transpose();
  Matrix M(q + P, q + P);
  M << sums.FF, sums.GF.transpose(), sums.GF, sums.GG;
  M.diagonal() *= 1 + kRidgeOfDerivatives;
  Matrix C = Matrix::Zero(q + P, form.C.cols());
  C.topRows(q) = form.C;
  std::vector<std::vector<Index>> groups(static_cast<std::size_t>(k));
  for (Index j = 0; j < k; ++j) {
    std::vector<Index>& group = groups[static_cast<std::size_t>(j)];
    group.push_back(j);
    for (Index i = 0; i < width; ++i) group.push_back(q + j * width + i);
  }
  return {M, std::move(C), std::move(groups)};
}

}  // namespace exhume
