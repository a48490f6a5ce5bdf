#include "extract/one_sided.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "exhume/base/random.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

constexpr double kExplained = 1e-5;  // what signs leave of R, over R, up to which nothing is missing
constexpr double kCounts = 1e-3;     // singular value of what is left, over the largest, of a row of its own
constexpr int kRounds = 6;
constexpr Index kDrawn = 200;  // places from which ascents start
constexpr std::size_t kStarts = 3;
constexpr int kSteps = 40;
constexpr double kFirstStep = 0.5, kLastStep = 0.02;  // over the radius
constexpr double kWithin = 0.97;                      // of a box

// The signs that leave least of R, one output in every row.
Vector signs_for(const Matrix& U, const Matrix& R, const Matrix& V) {
  const Matrix N = (U.transpose() * U).cwiseProduct(V * V.transpose());
  const Vector right = (U.transpose() * R * V.transpose()).diagonal();
  const Vector scale = N.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  const Vector s = scale.asDiagonal() * Matrix(scale.asDiagonal() * N * scale.asDiagonal())
                                            .completeOrthogonalDecomposition()
                                            .solve(Vector(scale.asDiagonal() * right));
  return s.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
}

}  // namespace

std::vector<Vector> one_sided_rows(const Matrix& U, const Matrix& R, const Matrix& V, std::uint64_t seed,
                                   std::size_t most) {
  const Index k = V.rows(), c = V.cols() - 1;
  const Matrix Rc = R.leftCols(c), Vc = V.leftCols(c);
  std::vector<Vector> out;
  if (R.rows() == 0 || !(Rc.norm() > 0)) return out;
  Matrix off = Matrix::Zero(R.rows(), c);  // of rank one
  Matrix left;
  for (int round = 0; round < kRounds; ++round) {
    const Vector s = signs_for(U, Rc - off, Vc);
    left = R - U * s.asDiagonal() * V;
    const Svd svd = thin_svd(left.leftCols(c));
    off = svd.values(0) * svd.U.col(0) * svd.V.col(0).transpose();
  }
  if (left.leftCols(c).norm() <= kExplained * Rc.norm()) return out;
  if (R.rows() > 1) {
    const Svd svd = thin_svd(left.leftCols(c));
    for (Index r = 0; r < svd.values.size() && out.size() < most; ++r)
      if (svd.values(r) > kCounts * svd.values(0)) out.emplace_back(left.transpose() * svd.U.col(r));
    return out;
  }
  out.emplace_back(left.row(0).transpose());
  const Stream random(seed, "extract signs");
  RowMatrix drawn(static_cast<Index>(most), k);
  random.fill_normal(0, drawn);
  for (Index i = 0; out.size() < most; ++i) {
    const Vector s = drawn.row(i).unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; }).transpose();
    out.emplace_back((R - U * s.asDiagonal() * V).row(0).transpose());
  }
  return out;
}

Vector place_of_most(const Space& space, const Planes& planes, const KnownLayers& below, const Vector& row,
                     std::uint64_t seed) {
  const RowMatrix drawn = places_about(space, planes, seed, 0, kDrawn);
  std::vector<std::pair<double, Index>> order;
  double radius = 0;
  for (Index i = 0; i < drawn.rows(); ++i) {
    order.emplace_back(-below.value(row, drawn.row(i).transpose()).z, i);
    radius = std::max(radius, (drawn.row(i).transpose() - space.middle()).norm());
  }
  std::sort(order.begin(), order.end());
  const auto inside = [&](Vector u) -> Vector {
    Vector away = u - space.middle();
    if (space.bounded() && space.whole) {
      const Box& box = space.meter->frame().box();
      const double wall = (1 - kWithin) * (box.high - box.low) / 2;
      return u.cwiseMax(box.low + wall).cwiseMin(box.high - wall);
    } else {
      double far = radius;
      if (space.bounded()) far = std::min(far, kWithin * space.reach(space.middle(), away.normalized()));
      if (away.norm() > far) away *= far / away.norm();
    }
    return space.middle() + away;
  };
  Vector best;
  double most = 0;
  for (std::size_t start = 0; start < std::min(kStarts, order.size()); ++start) {
    Vector u = drawn.row(order[start].second).transpose();
    for (int step = 0; step <= kSteps; ++step) {
      const KnownLayers::Value value = below.value(row, u);
      if (best.size() == 0 || value.z > most) most = value.z, best = u;
      const double size = value.slope.norm();
      if (!(size > kTiny)) break;
      const double length = kFirstStep * std::pow(kLastStep / kFirstStep, static_cast<double>(step) / kSteps);
      u = inside(u + length * radius * value.slope / size);
    }
  }
  return best;
}

}  // namespace exhume
