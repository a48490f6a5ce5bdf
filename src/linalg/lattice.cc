#include "linalg/lattice.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

namespace exhume {
namespace {

constexpr double kLovasz = 0.99;
constexpr double kHalf = 0.5 + 1e-6;  // a column is subtracted where the rounding of R cannot ask for it
constexpr int kMostFactors = 20;      // times that R is made anew; two or three suffice

}  // namespace

Lattice::Lattice(Matrix basis) : basis_(std::move(basis)) {
  factor();
  for (int i = 0; i < kMostFactors && reduce(); ++i) factor();
}

void Lattice::factor() {
  const Index k = basis_.cols();
  const Eigen::HouseholderQR<Matrix> qr(basis_);
  R_ = qr.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
  Q_ = qr.householderQ() * Matrix::Identity(basis_.rows(), k);
}

void Lattice::subtract(Index from, Index column, double times) {
  R_.col(from).head(column + 1) -= times * R_.col(column).head(column + 1);
  basis_.col(from) -= times * basis_.col(column);
}

// Columns right - 1 and right change places; a rotation of two rows makes R triangular again.
void Lattice::exchange(Index right) {
  const Index left = right - 1, rest = R_.cols() - left;
  basis_.col(left).swap(basis_.col(right));
  R_.col(left).head(right + 1).swap(R_.col(right).head(right + 1));
  Eigen::JacobiRotation<double> turn;
  turn.makeGivens(R_(left, left), R_(right, left));
  R_.rightCols(rest).applyOnTheLeft(left, right, turn.adjoint());
  R_(right, left) = 0;
}

bool Lattice::reduce() {
  bool changed = false;
  const auto shorten = [&](Index j, Index i) {
    const double ratio = R_(i, j) / R_(i, i);
    if (std::abs(ratio) <= kHalf) return;
    subtract(j, i, std::round(ratio));
    changed = true;
  };
  for (Index j = 1; j < R_.cols();) {
    shorten(j, j - 1);
    const double before = R_(j - 1, j - 1), beside = R_(j - 1, j), after = R_(j, j);
    if (kLovasz * before * before > beside * beside + after * after) {
      exchange(j);
      changed = true;
      j = std::max<Index>(j - 1, 1);
      continue;
    }
    for (Index i = j - 2; i >= 0; --i) shorten(j, i);
    ++j;
  }
  return changed;
}

double Lattice::least_length() const { return R_.cols() == 0 ? 0 : R_.diagonal().cwiseAbs().minCoeff(); }

Vector Lattice::point_near(const Vector& target) const {
  Vector left = Q_.transpose() * target;
  Vector point = Vector::Zero(basis_.rows());
  for (Index j = R_.cols() - 1; j >= 0; --j) {
    const double times = std::round(left(j) / R_(j, j));
    if (times == 0) continue;
    left.head(j + 1) -= times * R_.col(j).head(j + 1);
    point += times * basis_.col(j);
  }
  return point;
}

}  // namespace exhume
