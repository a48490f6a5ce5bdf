#include "fit/sign_lattice.h"

#include <algorithm>
#include <cmath>

#include "base/blas.h"
#include "linalg/lattice.h"

namespace exhume {
namespace {

constexpr double kGrowth = 4;      // of the weight
constexpr double kReduced = 1.02;  // |R_11| over the k-th root of the determinant is about its k-th power

}  // namespace

std::optional<SignPoint> only_signs(const Matrix& M, const Vector& v, double error) {
  const SingleThreadedBlas single;
  const Index k = M.cols(), r = M.rows();
  const auto units = static_cast<double>(k);
  const double size = M.norm() / std::sqrt(units);
  if (k == 0 || r == 0 || !(size > 0)) return std::nullopt;
  // Largest weight at which what the equations miss by is small beside the distance.
  const double most = std::sqrt(units) / (2 * std::max(error, kTiny));
  if (static_cast<double>(r) / units * std::log2(most * size) <
      units * std::log2(kReduced) + std::log2(units) / 2)
    return std::nullopt;
  const Vector h = (M.rowwise().sum() - v) / 2;
  Matrix basis(k + r, k);
  basis << Matrix::Identity(k, k), M / size;
  // The point so far. Each weight starts from that of the one before, so that all numbers stay small.
  Vector z = Vector::Zero(k), target(k + r);
  for (double weight = 1 / size; weight <= most; weight *= kGrowth) {
    const Lattice lattice(std::move(basis));
    target << 0.5 - z.array(), weight * (h - M * z);
    z += lattice.point_near(target).head(k);
    const double reach = lattice.least_length(), slack = weight * error;
    if (reach * reach > units + slack * slack) {
      if (!((z.array() == 0) || (z.array() == 1)).all()) return std::nullopt;
      SignPoint point;
      point.signs = 1 - 2 * z.array();
      point.miss = (M * point.signs - v).norm();
      point.runner_up = 2 * std::sqrt(reach * reach - units) / weight - point.miss;
      if (point.miss > error) return std::nullopt;
      return point;
    }
    basis = lattice.basis();
    basis.bottomRows(r) = (kGrowth * weight) * (M * basis.topRows(k));
  }
  return std::nullopt;
}

}  // namespace exhume
