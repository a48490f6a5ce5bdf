#include "extract/line_units.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "extract/jacobian.h"
#include "extract/line.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct LineUnitsLimits {
  // The first step of a Jacobian as a share of the gap between its kinks, where answers are doubles, and at
  // most.
  double step = 0.01, longest_step = 0.25;
  // Second singular value of a jump over the first, from which it is not that of one unit.
  double rank_one = 1e-3;
  // Distance of planes below which two are one.
  double same_plane = 1e-4;
  // What is left of an amplitude over what was taken off, below which the unit is none.
  double vanished = 1e-4;
  // Tangents: of doubles, and where answers are noisy or a model is taken off, whose errors are to be
  // averaged out.
  double short_tangent = 1e-3, long_tangent = 0.02, longest_tangent = 0.2;
  // Share of the reach within the box that is used.
  double within = 0.98;
  // Values over their noise up to which a piece of what is left counts as zero.
  double zero = 30;
};
constexpr LineUnitsLimits kLineUnits;

class Follower {
 public:
  Follower(const Space& space, const LineTask& task, SeparableModel& model)
      : space_(space), task_(task), model_(model), s_(space.dimensions()) {}

  LineUnits run() {
    LineOptions line;
    line.scale = task_.scale;
    line.low = task_.low;
    line.high = task_.high;
    line.intervals = task_.intervals;
    const bool taken_off = model_.C.size() > 0;
    line.tangent = std::clamp(300 * std::sqrt(space_.noise.relative), kLineUnits.short_tangent,
                              kLineUnits.longest_tangent);
    if (taken_off) line.tangent = std::max(line.tangent, kLineUnits.long_tangent);
    const LineKinks kinks = kinks_on_line(
        [&](const std::vector<double>& t) {
          RowMatrix u(static_cast<Index>(t.size()), s_);
          for (std::size_t i = 0; i < t.size(); ++i) u.row(static_cast<Index>(i)) = at(t[i]).transpose();
          NoisyAnswers answers = left(QueryStage::kKinks, u);
          // Far out rounding would be taken for kinks, thousands of them.
          for (Index i = 0; i < u.rows(); ++i)
            answers.noise(i) = std::max(answers.noise(i), space_.noise_at(u.row(i), 0));
          return answers;
        },
        line);
    outputs_ = space_.meter->outputs();
    if (model_.C.size() == 0) {
      model_.V.resize(0, s_ + 1);
      model_.C = Matrix::Zero(s_ + 1, outputs_);
      fresh_ = true;
    }
    out_.kinks = kinks.at;
    if (!kinks.at.empty() || fresh_) add_units(kinks.at);
    return out_;
  }

 private:
  [[nodiscard]] Vector at(double t) const { return task_.p + t * task_.v; }
  [[nodiscard]] NoisyAnswers left(QueryStage stage, const RowMatrix& u) const {
    return residual(space_, stage, model_, task_.model_error, u);
  }

  // Points in the gaps between kinks and beyond the outermost ones, with their Jacobians.
  [[nodiscard]] std::vector<LocalLinear> pieces(const std::vector<double>& kinks) const {
    const std::vector<Gap> gaps = gaps_between(task_, kinks);
    RowMatrix points(static_cast<Index>(gaps.size()), s_);
    Vector steps(points.rows());
    const double share = std::clamp(kLineUnits.step * std::sqrt(space_.noise.relative / 1e-15),
                                    kLineUnits.step, kLineUnits.longest_step);
    for (Index r = 0; r < points.rows(); ++r) {
      points.row(r) = at(gaps[static_cast<std::size_t>(r)].middle);
      steps(r) = share * gaps[static_cast<std::size_t>(r)].half;
    }
    const AskNoisy ask = [&](const RowMatrix& u) { return left(QueryStage::kJacobians, u); };
    if (!space_.whole || fresh_) return jacobians(ask, space_, points, steps, task_.seed);
    return unless_zero(ask, points, steps);
  }

  // In the whole space a Jacobian is expensive. Pieces where nothing is left need none.
  [[nodiscard]] std::vector<LocalLinear> unless_zero(const AskNoisy& ask, const RowMatrix& points,
                                                     const Vector& steps) const {
    const Index n = points.rows();
    RowMatrix u(2 * n, s_);
    for (Index r = 0; r < n; ++r) {
      u.row(2 * r) = points.row(r) - steps(r) * task_.v.transpose();
      u.row(2 * r + 1) = points.row(r) + steps(r) * task_.v.transpose();
    }
    const NoisyAnswers answers = ask(u);
    std::vector<LocalLinear> out(static_cast<std::size_t>(n));
    std::vector<Index> open;
    for (Index i = 0; i < n; ++i) {
      LocalLinear& piece = out[static_cast<std::size_t>(i)];
      piece = {points.row(i), Vector::Zero(outputs_), Matrix::Zero(outputs_, s_), steps(i), true};
      for (Index q = 2 * i; q < 2 * i + 2; ++q) {
        if (answers.values.row(q).cwiseAbs().maxCoeff() > kLineUnits.zero * answers.noise(q))
          piece.agreed = false;
      }
      if (!piece.agreed) open.push_back(i);
    }
    if (open.empty()) return out;
    RowMatrix some(static_cast<Index>(open.size()), s_);
    Vector their(some.rows());
    for (std::size_t i = 0; i < open.size(); ++i) {
      some.row(static_cast<Index>(i)) = points.row(open[i]);
      their(static_cast<Index>(i)) = steps(open[i]);
    }
    const std::vector<LocalLinear> asked = jacobians(ask, space_, some, their, task_.seed);
    for (std::size_t i = 0; i < open.size(); ++i) out[static_cast<std::size_t>(open[i])] = asked[i];
    return out;
  }

  void add_units(const std::vector<double>& kinks) {
    const auto count = static_cast<Index>(kinks.size());
    const std::vector<LocalLinear> gaps = pieces(kinks);
    SeparableModel changed = model_;
    bool corrected = false;
    Matrix V(count, s_ + 1), C(count, outputs_);
    Index kept = 0;
    for (Index j = 0; j < count; ++j) {
      const Matrix jump =
          gaps[static_cast<std::size_t>(j + 1)].jacobian - gaps[static_cast<std::size_t>(j)].jacobian;
      const Svd svd = thin_svd(jump);
      const double rank_one = std::max(kLineUnits.rank_one, std::sqrt(space_.noise.relative) * 30);
      if (!(svd.values(0) > 0) || (svd.values.size() > 1 && svd.values(1) > rank_one * svd.values(0)))
        continue;
      Vector w = svd.V.col(0);
      if (w.dot(task_.v) < 0) w = -w;
      const double b = -w.dot(at(kinks[static_cast<std::size_t>(j)]));
      const Vector c = jump * w / 2;
      if (const Index known = known_plane(w, b); known >= 0) {
        Vector now = changed.C.row(known).transpose() + c;
        if (now.norm() < kLineUnits.vanished * c.norm()) now.setZero();
        changed.C.row(known) = now.transpose();
        corrected = true;
        continue;
      }
      V.row(kept) << w.transpose(), b;
      C.row(kept++) = c.transpose();
    }
    // The linear part is what the first piece asks for beyond all units, as they are now.
    LocalLinear first = gaps.front();
    if (corrected) {
      const RowMatrix u = first.point.transpose();
      first.value += (evaluate(model_, u) - evaluate(changed, u)).row(0).transpose();
      first.jacobian += slope(model_, first.point) - slope(changed, first.point);
      model_ = without_vanished(changed);
    }
    if (kept > 0 || corrected || fresh_) join(V.topRows(kept), C.topRows(kept), first);
    out_.changed = kept + (corrected ? 1 : 0);
  }

  // The unit of the model with this plane, or -1.
  [[nodiscard]] Index known_plane(const Vector& w, double b) const {
    Vector plane(s_ + 1);
    plane << w, b / task_.scale;
    for (Index j = 0; j < model_.units(); ++j) {
      Vector other = model_.V.row(j);
      other(s_) /= task_.scale;
      if (unit_distance(plane, other, true) < kLineUnits.same_plane) return j;
    }
    return -1;
  }

  [[nodiscard]] SeparableModel without_vanished(const SeparableModel& model) const {
    const Index k = model.units();
    SeparableModel out = model;
    Index n = 0;
    for (Index j = 0; j < k; ++j) {
      if (model.C.row(j).isZero(0)) continue;
      out.V.row(n) = model.V.row(j);
      out.C.row(n++) = model.C.row(j);
    }
    out.C.middleRows(n, s_ + 1) = model.C.bottomRows(s_ + 1);
    out.V.conservativeResize(n, s_ + 1);
    out.C.conservativeResize(n + s_ + 1, outputs_);
    return out;
  }

  // Jacobian of a model at u: m x s.
  [[nodiscard]] Matrix slope(const SeparableModel& model, const Vector& u) const {
    const Index k = model.units();
    Matrix out = model.C.middleRows(k, s_).transpose();
    for (Index j = 0; j < k; ++j) {
      const auto w = model.V.row(j).head(s_);
      out += (w.dot(u) + model.V(j, s_) < 0 ? -1 : 1) * model.C.row(j).transpose() * w;
    }
    return out;
  }

  // New units, and the linear part that the first piece of the line then asks for.
  void join(const Matrix& V, const Matrix& C, const LocalLinear& first) {
    const Index old = model_.units(), more = V.rows();
    Matrix joined(old + more + s_ + 1, outputs_);
    joined << model_.C.topRows(old), C, model_.C.bottomRows(s_ + 1);
    Matrix linear = first.jacobian;  // of what is left, m x s
    Vector constant = first.value;
    for (Index j = 0; j < more; ++j) {
      const double z = V.row(j).head(s_).dot(first.point) + V(j, s_);
      linear -= (z < 0 ? -1 : 1) * C.row(j).transpose() * V.row(j).head(s_);
      constant -= std::abs(z) * C.row(j).transpose();
    }
    constant -= linear * first.point;
    joined.middleRows(old + more, s_) += linear.transpose();
    joined.bottomRows(1) += constant.transpose();
    Matrix all(old + more, s_ + 1);
    all << model_.V, V;
    model_.V = std::move(all);
    model_.C = std::move(joined);
  }

  const Space& space_;
  const LineTask& task_;
  SeparableModel& model_;
  Index s_, outputs_ = 0;
  bool fresh_ = false;  // nothing was known before this line
  LineUnits out_;
};

}  // namespace

Vector term_sizes(const SeparableModel& model, const RowMatrix& u) {
  const Index k = model.units(), s = u.cols();
  Vector size = Vector::Zero(u.rows());
  if (model.C.size() == 0) return size;
  if (k > 0) {
    Matrix z = u * model.V.leftCols(s).transpose();
    z.rowwise() += model.V.col(s).transpose();
    size = z.cwiseAbs() * model.C.topRows(k).cwiseAbs().rowwise().maxCoeff();
  }
  size += u.cwiseAbs() * model.C.middleRows(k, s).cwiseAbs().rowwise().maxCoeff();
  return size.array() + model.C.bottomRows(1).cwiseAbs().maxCoeff();
}

NoisyAnswers residual(const Space& space, QueryStage stage, const SeparableModel& model, double model_error,
                      const RowMatrix& u) {
  NoisyAnswers out = space.ask_noisy(stage, u);
  if (model.C.size() == 0) return out;
  out.noise += model_error * term_sizes(model, u);
  out.values -= evaluate(model, u);
  return out;
}

LineTask line_through(const Space& space, const Vector& p, const Vector& v, double farthest) {
  LineTask task;
  task.p = p;
  task.v = v;
  task.low = -farthest;
  task.high = farthest;
  if (space.bounded()) {
    task.low = -kLineUnits.within * space.reach(p, -v);
    task.high = kLineUnits.within * space.reach(p, v);
    task.scale = (task.high - task.low) / 2;
  }
  return task;
}

std::vector<Gap> gaps_between(const LineTask& task, const std::vector<double>& kinks) {
  const std::size_t n = kinks.size();
  if (n == 0) return {{0, task.scale}};
  const double beyond = n > 1 ? (kinks.back() - kinks.front()) / static_cast<double>(n) : task.scale / 4;
  std::vector<Gap> out;
  for (std::size_t r = 0; r <= n; ++r) {
    const double low = r > 0 ? kinks[r - 1] : std::max(task.low, kinks.front() - 2 * beyond);
    const double high = r < n ? kinks[r] : std::min(task.high, kinks.back() + 2 * beyond);
    out.push_back({(low + high) / 2, (high - low) / 2});
  }
  return out;
}

LineUnits units_of_line(const Space& space, const LineTask& task, SeparableModel& model) {
  return Follower(space, task, model).run();
}

}  // namespace exhume
