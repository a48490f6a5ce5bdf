#include "extract/kink.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct KinkLimits {
  double rank_one = 1e-3;  // second singular value of a jump over the first, at most
  // Bends.
  double not_zero = 30;    // deviations of a slope's noise from which it is not zero
  double of_reach = 0.45;  // of the reach in a box, for h: 2 h must lie in it
  // Segments, over their length.
  int intervals = 4;
  double tangent = 0.005, narrowest = 1e-5;
  double jacobian_step = 0.02;  // of a Jacobian, over the way to its kink
  // The first kink between a right and a wrong answer, over the scale.
  int halvings = 40;
  double near = 1e-4, nearest = 1e-7;    // where bisection ends
  double wider[3] = {1, 8, 64};          // steps of the last look, over the interval that is left
  double rooms[3] = {2e-2, 4e-3, 8e-4};  // without another kink to either side
  double straight = 30;                  // values over their noise that are none
};
constexpr KinkLimits kKink;

// The kink at `place` of a line along v: Jacobians at `room` to either side.
std::optional<Kink> kink_with_room(const Space& space, const Vector& place, const Vector& v, double room,
                                   std::uint64_t seed) {
  RowMatrix points(2, place.size());
  points.row(0) = (place - room * v).transpose();
  points.row(1) = (place + room * v).transpose();
  const std::vector<LocalLinear> sides = jacobians(space.asking(QueryStage::kSingleKinks), space, points,
                                                   Vector::Constant(2, kKink.jacobian_step * room), seed);
  if (!sides[0].agreed || !sides[1].agreed) return std::nullopt;
  return kink_between(space, sides[0], sides[1], place);
}

// How far the line is straight to either side of its kink: the longest of some lengths, or `least`.
double straight_room(const Space& space, const Vector& place, const Vector& v, double scale, double least) {
  for (const double share : kKink.rooms) {
    double room = share * scale;
    if (room <= least) break;
    if (space.bounded() && std::min(space.reach(place, v), space.reach(place, -v)) < 2 * room) continue;
    RowMatrix u(5, place.size());
    for (Index q = 0; q < 5; ++q)
      u.row(q) = (place + 0.5 * static_cast<double>(q - 2) * room * v).transpose();
    const RowMatrix y = space.ask(QueryStage::kSingleKinks, u);
    const double noise = kKink.straight * space.noise.at(y.cwiseAbs().maxCoeff());
    if ((y.row(0) - 2 * y.row(1) + y.row(2)).cwiseAbs().maxCoeff() <= noise &&
        (y.row(4) - 2 * y.row(3) + y.row(2)).cwiseAbs().maxCoeff() <= noise)
      return room;
  }
  return least;
}

}  // namespace

std::optional<Kink> kink_between(const Space& space, const LocalLinear& before, const LocalLinear& after,
                                 const Vector& place) {
  const Matrix jump = after.jacobian - before.jacobian;
  const Svd svd = thin_svd(jump);
  if (!(svd.values(0) > 0) || !svd.V.col(0).allFinite() ||
      (svd.values.size() > 1 && svd.values(1) > kKink.rank_one * svd.values(0)))
    return std::nullopt;
  Kink out{place, svd.V.col(0), jump * svd.V.col(0), 0};
  out.error =
      space.noise.at(std::max(before.value.cwiseAbs().maxCoeff(), after.value.cwiseAbs().maxCoeff())) /
      (std::min(before.step, after.step) * out.jump.norm());
  return out;
}

std::vector<Bend> bends_at(const Space& space, QueryStage stage, const RowMatrix& places,
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
      h(i) = std::max(
          0.0, std::min(h(i), kKink.of_reach * std::min(space.reach(at, along), space.reach(at, -along))));
    for (Index q = 0; q < 4; ++q) u.row(4 * i + q) = places.row(i) + kAt[q] * h(i) * directions.row(i);
  }
  const RowMatrix y = space.ask(stage, u);
  for (Index i = 0; i < n; ++i) {
    Bend& bend = out[static_cast<std::size_t>(i)];
    if (!(h(i) > 0)) continue;
    const auto g = y.middleRows(4 * i, 4);
    const double noise = space.noise.at(g.cwiseAbs().maxCoeff()), least = kKink.not_zero * noise / h(i);
    const Vector left = (g.row(1) - g.row(0)).transpose() / h(i),
                 right = (g.row(3) - g.row(2)).transpose() / h(i);
    bend.jump = right - left;
    bend.alive = std::max(left.cwiseAbs().maxCoeff(), right.cwiseAbs().maxCoeff()) > least;
    if (!(bend.jump.cwiseAbs().maxCoeff() > least)) continue;
    const Vector rise = (g.row(1) - g.row(2)).transpose() + h(i) * (left + right);
    bend.offset = rise.dot(bend.jump) / bend.jump.squaredNorm();
    bend.error = 4 * noise / bend.jump.norm();
    bend.bends = std::abs(bend.offset) < h(i) &&
                 (rise - bend.offset * bend.jump).cwiseAbs().maxCoeff() <= 2 * kKink.not_zero * noise;
  }
  return out;
}

std::vector<double> kinks_along(const Space& space, QueryStage stage, const Vector& from, const Vector& v,
                                const LineOptions& line) {
  return kinks_on_line(
             [&](const std::vector<double>& t) {
               RowMatrix u(static_cast<Index>(t.size()), from.size());
               for (std::size_t i = 0; i < t.size(); ++i)
                 u.row(static_cast<Index>(i)) = (from + t[i] * v).transpose();
               return space.ask_noisy(stage, u);
             },
             line)
      .at;
}

std::vector<Kink> kinks_of_segment(const Space& space, const Vector& from, const Vector& to,
                                   std::uint64_t seed) {
  const double length = (to - from).norm();
  std::vector<Kink> out;
  if (!(length > 0)) return out;
  const Vector v = (to - from) / length;
  LineOptions line;
  line.low = 0;
  line.high = length;
  line.scale = 10 * length;
  line.intervals = kKink.intervals;
  line.tangent = kKink.tangent;
  line.narrowest = kKink.narrowest * length / line.scale;
  const std::vector<double> at = kinks_along(space, QueryStage::kSingleKinks, from, v, line);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double before = at[i] - (i > 0 ? at[i - 1] : 0),
                 after = (i + 1 < at.size() ? at[i + 1] : length) - at[i];
    if (auto kink = kink_with_room(space, from + at[i] * v, v, std::min(before, after) / 2,
                                   sub_seed(seed, "segment", i)))
      out.push_back(std::move(*kink));
  }
  return out;
}

std::optional<Kink> first_kink(const Space& space, const Model& model, const Vector& right,
                               const Vector& wrong, double scale, std::uint64_t seed) {
  const auto off = [&](const Vector& u) {
    const RowMatrix at = u.transpose();
    const NoisyAnswers said = model(at);
    return (space.ask(QueryStage::kSingleKinks, at) - said.values).cwiseAbs().maxCoeff() > said.noise(0);
  };
  const double length = (wrong - right).norm();
  const Vector v = (wrong - right) / length;
  double low = 0, high = length;
  for (int i = 0; i < kKink.halvings && high - low > kKink.near * scale; ++i) {
    const double middle = (low + high) / 2;
    (off(right + middle * v) ? high : low) = middle;
  }
  // Just beyond the kink the model is hardly off: the kink lies before, by how much is not known.
  const double left = std::max(high - low, kKink.nearest * scale);
  for (const double wider : kKink.wider) {
    const Vector place = right + low * v;
    const Bend bend = bends_at(space, QueryStage::kSingleKinks, place.transpose(), v.transpose(),
                               Vector::Constant(1, wider * left))
                          .front();
    if (!bend.bends) continue;
    const Vector at = place + bend.offset * v;
    return kink_with_room(space, at, v, straight_room(space, at, v, scale, wider * left) / 2, seed);
  }
  return std::nullopt;
}

}  // namespace exhume
