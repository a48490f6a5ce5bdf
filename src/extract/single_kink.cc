#include "extract/single_kink.h"

#include <algorithm>
#include <cmath>

#include "extract/bend.h"
#include "extract/jacobian.h"
#include "extract/line.h"
#include "extract/line_units.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

constexpr const char* kStage = "single kinks";
constexpr int kIntervals = 4;
constexpr double kTangent = 0.005;
constexpr double kNarrowest = 1e-5;  // of the segment
constexpr double kStep = 0.02;       // of a Jacobian, over the way to its kink
constexpr double kRankOne = 1e-3;    // second singular value of a jump over the first, at most
constexpr int kHalvings = 40;
constexpr double kNear = 1e-4, kNearest = 1e-7;  // where bisection ends, over the scale
constexpr double kWider[] = {1, 8, 64};          // steps of the last look, over the interval that is left
constexpr double kRooms[] = {2e-2, 4e-3, 8e-4};  // without another kink to either side, over the scale
constexpr double kStraight = 30;                 // values over their noise that are none

// The kink at `place` of a line along v: Jacobians at `room` to either side.
std::optional<UpperKink> kink_at(const Space& space, const Vector& place, const Vector& v, double room,
                                 std::uint64_t seed) {
  const Index s = place.size();
  RowMatrix points(2, s);
  points.row(0) = (place - room * v).transpose();
  points.row(1) = (place + room * v).transpose();
  const auto ask = [&](const RowMatrix& u) { return residual(space, kStage, {}, 0, u); };
  const std::vector<LocalLinear> sides =
      jacobians(ask, space, points, Vector::Constant(2, kStep * room), seed);
  if (!sides[0].agreed || !sides[1].agreed) return std::nullopt;
  const Matrix jump = sides[1].jacobian - sides[0].jacobian;
  const Svd svd = thin_svd(jump);
  if (!(svd.values(0) > 0) || !svd.V.col(0).allFinite() ||
      (svd.values.size() > 1 && svd.values(1) > kRankOne * svd.values(0)))
    return std::nullopt;
  UpperKink out;
  out.place = place;
  out.normal = svd.V.col(0);
  out.jump = jump * out.normal;
  out.error =
      space.noise.at(std::max(sides[0].value.cwiseAbs().maxCoeff(), sides[1].value.cwiseAbs().maxCoeff())) /
      (std::min(sides[0].step, sides[1].step) * out.jump.norm());
  return out;
}

// How far the line is straight to either side of its kink: the longest of some lengths, or `least`.
double straight_room(const Space& space, const Vector& place, const Vector& v, double scale, double least) {
  for (const double share : kRooms) {
    double room = share * scale;
    if (room <= least) break;
    if (space.bounded() && std::min(space.reach(place, v), space.reach(place, -v)) < 2 * room) continue;
    RowMatrix u(5, place.size());
    for (Index q = 0; q < 5; ++q)
      u.row(q) = (place + 0.5 * static_cast<double>(q - 2) * room * v).transpose();
    const RowMatrix y = space.ask(kStage, u);
    const double noise = kStraight * space.noise.at(y.cwiseAbs().maxCoeff());
    if ((y.row(0) - 2 * y.row(1) + y.row(2)).cwiseAbs().maxCoeff() <= noise &&
        (y.row(4) - 2 * y.row(3) + y.row(2)).cwiseAbs().maxCoeff() <= noise)
      return room;
  }
  return least;
}

}  // namespace

std::vector<UpperKink> kinks_of_segment(const Space& space, const Vector& from, const Vector& to,
                                        std::uint64_t seed) {
  const double length = (to - from).norm();
  std::vector<UpperKink> out;
  if (!(length > 0)) return out;
  const Vector v = (to - from) / length;
  LineOptions line;
  line.low = 0;
  line.high = length;
  line.scale = 10 * length;
  line.intervals = kIntervals;
  line.tangent = kTangent;
  line.narrowest = kNarrowest * length / line.scale;
  const std::vector<double> at =
      kinks_on_line(
          [&](const std::vector<double>& t) {
            RowMatrix u(static_cast<Index>(t.size()), from.size());
            for (std::size_t i = 0; i < t.size(); ++i)
              u.row(static_cast<Index>(i)) = (from + t[i] * v).transpose();
            NoisyAnswers answers = residual(space, kStage, {}, 0, u);
            return LineAnswers{std::move(answers.values), std::move(answers.noise)};
          },
          line)
          .at;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double before = at[i] - (i > 0 ? at[i - 1] : 0),
                 after = (i + 1 < at.size() ? at[i + 1] : length) - at[i];
    if (auto kink = kink_at(space, from + at[i] * v, v, std::min(before, after) / 2, seed + i))
      out.push_back(std::move(*kink));
  }
  return out;
}

std::optional<UpperKink> first_kink(const Space& space, const Model& model, const Vector& right,
                                    const Vector& wrong, double scale, std::uint64_t seed) {
  const auto off = [&](const Vector& u) {
    const RowMatrix at = u.transpose();
    const NoisyAnswers said = model(at);
    return (space.ask(kStage, at) - said.values).cwiseAbs().maxCoeff() > said.noise(0);
  };
  const double length = (wrong - right).norm();
  const Vector v = (wrong - right) / length;
  double low = 0, high = length;
  for (int i = 0; i < kHalvings && high - low > kNear * scale; ++i) {
    const double middle = (low + high) / 2;
    (off(right + middle * v) ? high : low) = middle;
  }
  // Just beyond the kink the model is hardly off: the kink lies before, by how much is not known.
  const double left = std::max(high - low, kNearest * scale);
  for (const double wider : kWider) {
    const Vector place = right + low * v;
    const Bend bend =
        bends_at(space, kStage, place.transpose(), v.transpose(), Vector::Constant(1, wider * left)).front();
    if (!bend.bends) continue;
    const Vector at = place + bend.offset * v;
    return kink_at(space, at, v, straight_room(space, at, v, scale, wider * left) / 2, seed);
  }
  return std::nullopt;
}

}  // namespace exhume
