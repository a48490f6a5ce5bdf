#include "extract/noisy_kinks.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace exhume {
namespace {

struct NoisyKinkLimits {
  // The probe measures the largest of some ten deviations, twice: about three standard deviations.
  double probed = 3;
  double bent = 6;         // standard deviations of a second difference, or of a line's value
  double left = 6.5;       // the same of the largest residual of a part
  Index least_points = 3;  // of a part, without its ends
  double beside = 0.5;     // of a part, where the Jacobian beside its kink is taken
  double step = 0.5;       // of that distance, for its steps
  double shrink = 0.3;     // where one passes another kink,
  int tries = 5;           // so often
  double rank_one = 8;     // errors of a jump that is of rank one
  double outside = 1.3;    // of h, where a kink still counts as near
};
constexpr NoisyKinkLimits kNoisyKink;

struct Part {
  Index first = 0, last = 0;      // points of the grid
  Index count = 0;                // that were fitted; 0: not straight, or too few
  double middle = 0, spread = 0;  // of t: mean, sum of squares about it
  Vector value, slope;            // at the middle
  [[nodiscard]] double variance(double t) const {
    return 1 / static_cast<double>(count) + (t - middle) * (t - middle) / spread;
  }
};

void fit_part(Part& part, const Vector& t, const RowMatrix& y, double sigma) {
  const Index first = part.first == 0 ? 0 : part.first + 1;
  const Index last = part.last + 1 == t.size() ? part.last : part.last - 1;
  const Index n = last - first + 1;
  if (n < kNoisyKink.least_points) return;
  const Vector some = t.segment(first, n);
  part.middle = some.mean();
  const Vector centred = some.array() - part.middle;
  part.spread = centred.squaredNorm();
  const RowMatrix values = y.middleRows(first, n);
  part.value = values.colwise().mean().transpose();
  part.slope = values.transpose() * centred / part.spread;
  const Matrix left = values - centred * part.slope.transpose() - Vector::Ones(n) * part.value.transpose();
  if (left.cwiseAbs().maxCoeff() <= kNoisyKink.left * sigma) part.count = n;
}

}  // namespace

NoisySpace::NoisySpace(const Space& within)
    : space(within), relative(within.noise.relative / kNoisyKink.probed) {}

RowMatrix NoisySpace::rounded(RowMatrix u) const {
  if (!space.whole) return u;
  u = u.cast<float>().cast<double>();
  const Box& box = space.frame->box();
  if (box.bounded()) u = u.cwiseMax(box.low).cwiseMin(box.high);
  return u;
}

std::vector<LineBend> bends_of_line(const NoisySpace& f, QueryStage stage, const Vector& from,
                                    const Vector& v, double low, double high, Index count) {
  std::vector<LineBend> out;
  if (!(low < high)) return out;
  const Vector t = Vector::LinSpaced(count, low, high);
  RowMatrix u = t * v.transpose();
  u.rowwise() += from.transpose();
  const RowMatrix y = f.ask(stage, u);
  const double sigma = f.sigma(y.cwiseAbs().maxCoeff()), step = t(1) - t(0);
  const double limit = kNoisyKink.bent * std::sqrt(6.0) * sigma;
  std::vector<Part> parts;
  for (Index i = 0; i < count;) {
    Index j = std::min(i + 1, count - 1);
    while (j + 1 < count && !((y.row(j - 1) - 2 * y.row(j) + y.row(j + 1)).cwiseAbs().maxCoeff() > limit))
      ++j;
    Part part;
    part.first = i;
    part.last = j;
    fit_part(part, t, y, sigma);
    parts.push_back(std::move(part));
    i = j + 1;
  }
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const Part &left = parts[i], &right = parts[i + 1];
    if (left.count == 0 || right.count == 0) continue;
    LineBend bend;
    bend.jump = right.slope - left.slope;
    const double size = bend.jump.norm();
    if (!(size > 0)) continue;
    // At t: left.value + left.slope (t - left.middle) = right.value + right.slope (t - right.middle).
    const double about = (t(left.last) + t(right.first)) / 2;
    const Vector gap =
        right.value + right.slope * (about - right.middle) - left.value - left.slope * (about - left.middle);
    bend.at = about - gap.dot(bend.jump) / (size * size);
    const double error = sigma * std::sqrt(left.variance(bend.at) + right.variance(bend.at));
    if ((gap + bend.jump * (bend.at - about)).cwiseAbs().maxCoeff() > kNoisyKink.bent * error) continue;
    if (bend.at < t(left.last) - 1.5 * step || bend.at > t(right.first) + 1.5 * step) continue;
    bend.error = error / size;
    bend.jump_error = sigma * std::sqrt(1 / left.spread + 1 / right.spread);
    bend.before = bend.at - t(left.first);
    bend.after = t(right.last) - bend.at;
    out.push_back(std::move(bend));
  }
  return out;
}

namespace {

// A Jacobian beside a kink: by central differences, each as long as it is straight.
struct NoisyJacobian {
  Vector at;
  Vector steps;     // s; 0 where none was straight
  Matrix slopes;    // m x s
  double size = 0;  // of the answers
};

void take_jacobians(const NoisySpace& f, std::vector<NoisyJacobian>& all) {
  struct Open {
    std::size_t which;
    Index axis;
    double step;
  };
  const Index s = f.dimensions();
  std::vector<Open> open;
  RowMatrix centres(static_cast<Index>(all.size()), s);
  for (std::size_t i = 0; i < all.size(); ++i) {
    centres.row(static_cast<Index>(i)) = all[i].at.transpose();
    for (Index a = 0; a < s; ++a) {
      double step = all[i].steps(a);
      if (f.space.bounded()) {
        step = std::min({step, f.space.reach(all[i].at, Vector::Unit(s, a)),
                         f.space.reach(all[i].at, -Vector::Unit(s, a))});
      }
      open.push_back({i, a, step});
    }
    all[i].steps.setZero();
  }
  if (all.empty()) return;
  const RowMatrix middle = f.ask(QueryStage::kJacobians, centres);
  for (NoisyJacobian& each : all) each.slopes = Matrix::Zero(middle.cols(), s);
  for (int round = 0; round < kNoisyKink.tries && !open.empty(); ++round) {
    RowMatrix u(2 * static_cast<Index>(open.size()), s);
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto at = static_cast<Index>(2 * i);
      u.row(at) = u.row(at + 1) = all[open[i].which].at.transpose();
      u(at, open[i].axis) += open[i].step;
      u(at + 1, open[i].axis) -= open[i].step;
    }
    const RowMatrix asked = f.rounded(u), y = f.ask(QueryStage::kJacobians, u);
    std::vector<Open> again;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto at = static_cast<Index>(2 * i);
      const auto [which, axis, step] = open[i];
      NoisyJacobian& each = all[which];
      const auto here = middle.row(static_cast<Index>(which));
      const double size = std::max(here.cwiseAbs().maxCoeff(), y.middleRows(at, 2).cwiseAbs().maxCoeff());
      const double bend = (y.row(at) + y.row(at + 1) - 2 * here).cwiseAbs().maxCoeff();
      each.size = std::max(each.size, size);
      const double apart = asked(at, axis) - asked(at + 1, axis);
      if (bend <= kNoisyKink.bent * std::sqrt(6.0) * f.sigma(size) && apart > 0) {
        each.steps(axis) = apart / 2;
        each.slopes.col(axis) = (y.row(at) - y.row(at + 1)).transpose() / apart;
      } else {
        again.push_back({which, axis, kNoisyKink.shrink * step});
      }
    }
    open = std::move(again);
  }
}

}  // namespace

std::vector<NoisyKink> kinks_with_normals(const NoisySpace& f, const Vector& from, const Vector& v,
                                          const std::vector<LineBend>& bends) {
  const Index s = f.dimensions();
  std::vector<NoisyJacobian> sides;
  for (const LineBend& bend : bends) {
    for (const double away : {-kNoisyKink.beside * bend.before, kNoisyKink.beside * bend.after}) {
      NoisyJacobian one;
      one.at = from + (bend.at + away) * v;
      one.steps = Vector::Constant(s, kNoisyKink.step * std::abs(away));
      sides.push_back(std::move(one));
    }
  }
  take_jacobians(f, sides);
  std::vector<NoisyKink> out;
  for (std::size_t i = 0; i < bends.size(); ++i) {
    const NoisyJacobian &left = sides[2 * i], &right = sides[2 * i + 1];
    if (!(left.steps.minCoeff() > 0) || !(right.steps.minCoeff() > 0)) continue;
    const double sigma = f.sigma(std::max(left.size, right.size));
    const Vector errors =
        sigma * (left.steps.cwiseAbs2().cwiseInverse() + right.steps.cwiseAbs2().cwiseInverse()).cwiseSqrt() /
        std::sqrt(2.0);
    const Matrix jump = right.slopes - left.slopes;
    const Vector along = bends[i].jump.normalized();
    const Vector row = jump.transpose() * along;
    const double size = row.norm();
    if (!(size > kNoisyKink.bent * errors.norm())) continue;
    const Matrix rest = jump - along * row.transpose();
    if (rest.norm() > kNoisyKink.rank_one * errors.norm() * std::sqrt(static_cast<double>(jump.rows())))
      continue;
    NoisyKink kink;
    kink.place = from + bends[i].at * v;
    kink.normal = row / size;
    kink.error = std::max(bends[i].error * std::abs(kink.normal.dot(v)), f.relative * kink.place.norm());
    kink.turn = errors.norm() / size;
    kink.jump = along * size;
    kink.room = std::min(bends[i].before, bends[i].after);
    out.push_back(std::move(kink));
  }
  return out;
}

std::vector<NoisyBend> look_across(const NoisySpace& f, QueryStage stage, const RowMatrix& places,
                                   const RowMatrix& normals, const Vector& steps) {
  const Index n = places.rows();
  std::vector<NoisyBend> out(static_cast<std::size_t>(n));
  if (n == 0) return out;
  constexpr double kAt[] = {-3, -2, -1, 1, 2, 3};
  Vector h = steps;
  RowMatrix u(6 * n, places.cols());
  for (Index i = 0; i < n; ++i) {
    if (f.space.bounded()) {
      h(i) = std::min({h(i), f.space.reach(places.row(i).transpose(), normals.row(i).transpose()) / 3,
                       f.space.reach(places.row(i).transpose(), -normals.row(i).transpose()) / 3});
    }
    for (Index q = 0; q < 6; ++q) u.row(6 * i + q) = places.row(i) + kAt[q] * h(i) * normals.row(i);
  }
  const RowMatrix y = f.ask(stage, u);
  for (Index i = 0; i < n; ++i) {
    NoisyBend& bend = out[static_cast<std::size_t>(i)];
    if (!(h(i) > 0)) continue;
    const auto g = y.middleRows(6 * i, 6);
    const double sigma = f.sigma(g.cwiseAbs().maxCoeff()),
                 straight = kNoisyKink.bent * std::sqrt(6.0) * sigma;
    const auto second = [&](Index a) {
      return (g.row(a) - 2 * g.row(a + 1) + g.row(a + 2)).cwiseAbs().maxCoeff();
    };
    const Vector left = (g.row(2) - g.row(0)).transpose() / (2 * h(i)),
                 right = (g.row(5) - g.row(3)).transpose() / (2 * h(i));
    const double error = sigma / (std::sqrt(2.0) * h(i)), limit = kNoisyKink.bent * std::sqrt(2.0) * error;
    bend.jump = right - left;
    bend.jump_error = std::sqrt(2.0) * error;
    const double size = bend.jump.norm();
    if (second(0) > straight || second(3) > straight) continue;
    if (std::max(left.cwiseAbs().maxCoeff(), right.cwiseAbs().maxCoeff()) <= limit) {
      bend.seen = Seen::kDead;
      continue;
    }
    if (bend.jump.cwiseAbs().maxCoeff() <= limit) {
      bend.seen = Seen::kNone;
      continue;
    }
    // Both lines at 0, from their three points at +-2h on average.
    const Vector before = g.topRows(3).colwise().mean().transpose() + 2 * h(i) * left,
                 after = g.bottomRows(3).colwise().mean().transpose() - 2 * h(i) * right;
    const Vector gap = after - before;
    bend.offset = -gap.dot(bend.jump) / (size * size);
    const double apart = sigma * std::sqrt(2 * (1.0 / 3 + 2));
    bend.error = apart / size;
    const bool meet = (gap + bend.jump * bend.offset).cwiseAbs().maxCoeff() <= kNoisyKink.bent * apart;
    bend.seen = meet && std::abs(bend.offset) <= kNoisyKink.outside * h(i) ? Seen::kBend : Seen::kCrowded;
  }
  return out;
}

}  // namespace exhume
