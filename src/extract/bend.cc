#include "extract/bend.h"

#include <algorithm>
#include <cmath>

namespace exhume {
namespace {

constexpr double kDeviations = 30;  // of a slope's noise from which it is not zero
constexpr double kWithin = 0.45;    // of the reach in a box, for h

}  // namespace

std::vector<Bend> bends_at(const Space& space, const std::string& stage, const RowMatrix& places,
                           const RowMatrix& directions, const Vector& steps) {
  constexpr double kAt[] = {-2, -1, 1, 2};
  const Index n = places.rows();
  std::vector<Bend> out(static_cast<std::size_t>(n));
  if (n == 0) return out;
  Vector h = steps;
  RowMatrix u(4 * n, places.cols());
  for (Index i = 0; i < n; ++i) {
    const Vector at = places.row(i), along = directions.row(i);
    if (space.bounded())
      h(i) =
          std::max(0.0, std::min(h(i), kWithin * std::min(space.reach(at, along), space.reach(at, -along))));
    for (Index q = 0; q < 4; ++q) u.row(4 * i + q) = places.row(i) + kAt[q] * h(i) * directions.row(i);
  }
  const RowMatrix y = space.ask(stage, u);
  for (Index i = 0; i < n; ++i) {
    Bend& bend = out[static_cast<std::size_t>(i)];
    if (!(h(i) > 0)) continue;
    const auto g = y.middleRows(4 * i, 4);
    const double noise = space.noise.at(g.cwiseAbs().maxCoeff()), least = kDeviations * noise / h(i);
    const Vector left = (g.row(1) - g.row(0)).transpose() / h(i),
                 right = (g.row(3) - g.row(2)).transpose() / h(i);
    bend.jump = right - left;
    bend.alive = std::max(left.cwiseAbs().maxCoeff(), right.cwiseAbs().maxCoeff()) > least;
    if (!(bend.jump.cwiseAbs().maxCoeff() > least)) continue;
    const Vector rise = (g.row(1) - g.row(2)).transpose() + h(i) * (left + right);
    bend.offset = rise.dot(bend.jump) / bend.jump.squaredNorm();
    bend.error = 4 * noise / bend.jump.norm();
    bend.bends = std::abs(bend.offset) < h(i) &&
                 (rise - bend.offset * bend.jump).cwiseAbs().maxCoeff() <= 2 * kDeviations * noise;
  }
  return out;
}

}  // namespace exhume
