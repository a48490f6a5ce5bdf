#include "extract/moves/tell_shape.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "extract/evidence.h"

namespace exhume {
namespace {

struct ShapeLimits {
  Index places = 8, points = 9;
  // Half lengths of the segments over the size of inputs: the first, which is short beside what noise
  // hides, for doubles and for coarser answers, and the longest.
  double first_fine = 1e-6, first_coarse = 1e-4, longest = 0.5, factor = 4;
  double coarse = 1e-12;
  double bent = 60;     // noises off a line: a parabola is then 15 off a bend, so that the two are told apart
  double little = 0.3;  // of what the other fits leave
  double falls = 0.5;   // of what was left before, where a segment half as long shows less: it is not rough
  int halvings = 5;
  // Steps that are halved, how often, and the share of the change that a jump keeps: half of it at least,
  // but for the slopes beside it.
  std::size_t halved_steps = 2;
  int step_halvings = 30;
  double stays = 0.3;
};
constexpr ShapeLimits kShape;

// Largest residual of y (points x m) on the columns of F.
double left_by(const Matrix& F, const Matrix& y) {
  return (y - F * F.colPivHouseholderQr().solve(y)).cwiseAbs().maxCoeff();
}

struct Fits {
  double line = 0, bend = 0, curve = 0, step = 0;  // what each leaves, at most
};

Fits fits_of(const Matrix& y) {
  const Index n = y.rows();
  const Vector t = Vector::LinSpaced(n, -1, 1);
  Matrix line(n, 2), cubic(n, 4), cut(n, 3);
  line << Vector::Ones(n), t;
  cubic << line, t.cwiseAbs2(), t.array().cube().matrix();
  cut.leftCols(2) = line;
  Fits out{left_by(line, y), std::numeric_limits<double>::infinity(), left_by(cubic, y),
           std::numeric_limits<double>::infinity()};
  // A kink at every quarter of the way from one point to the next, then near the best; a jump has no place
  // between them.
  const double step = (t(1) - t(0)) / 4;
  double best = 0;
  const auto try_kink = [&](double at) {
    cut.col(2) = (t.array() - at).cwiseMax(0.0);
    const double left = left_by(cut, y);
    if (!(left < out.bend)) return;
    out.bend = left;
    best = at;
  };
  for (Index i = 3; i <= 4 * (n - 1) - 3; ++i) try_kink(t(0) + step * static_cast<double>(i));
  for (double finer : {step / 4, step / 16}) {
    const double about = best;
    for (int i = -3; i <= 3; ++i) try_kink(about + finer * i);
  }
  for (Index i = 1; i < n; ++i) {
    cut.col(2) = (t.array() >= t(i)).cast<double>();
    out.step = std::min(out.step, left_by(cut, y));
  }
  return out;
}

enum class Shape { kStraight, kBend, kCurve, kStep, kUnclear };

Shape shape_of(const Fits& fits, double noise) {
  if (!(fits.line > kShape.bent * noise)) return Shape::kStraight;
  const double bend = fits.bend, others = std::min(bend, fits.step);
  if (fits.step < kShape.little * std::min(bend, fits.curve)) return Shape::kStep;
  if (fits.curve < kShape.little * others) return Shape::kCurve;
  if (bend < kShape.little * std::min(fits.curve, fits.step)) return Shape::kBend;
  return Shape::kUnclear;
}

// The two neighbours among places in a row between which answers change most.
struct Step {
  Vector from, to, at_from, at_to;
  double height = 0;
};

Step highest_step(const RowMatrix& places, const RowMatrix& answers) {
  Step out;
  for (Index i = 1; i < places.rows(); ++i) {
    const double change = (answers.row(i) - answers.row(i - 1)).cwiseAbs().maxCoeff();
    if (change <= out.height) continue;
    out = {places.row(i - 1), places.row(i), answers.row(i - 1), answers.row(i), change};
  }
  return out;
}

// How many of them are jumps: as high on ever shorter intervals.
int jumps_among(std::vector<Step> steps, Meter& meter) {
  if (steps.empty()) return 0;
  RowMatrix u(static_cast<Index>(steps.size()), steps.front().from.size());
  for (int halving = 0; halving < kShape.step_halvings; ++halving) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      u.row(static_cast<Index>(i)) = (steps[i].from + steps[i].to).transpose() / 2;
    const RowMatrix y = meter.ask(QueryStage::kProbe, plain_rows(u));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Step& step = steps[i];
      const Vector middle = u.row(static_cast<Index>(i)), answer = y.row(static_cast<Index>(i));
      if ((answer - step.at_from).cwiseAbs().maxCoeff() > (step.at_to - answer).cwiseAbs().maxCoeff()) {
        step.to = middle;
        step.at_to = answer;
      } else {
        step.from = middle;
        step.at_from = answer;
      }
    }
  }
  return static_cast<int>(std::count_if(steps.begin(), steps.end(), [](const Step& step) {
    return (step.at_to - step.at_from).cwiseAbs().maxCoeff() > kShape.stays * step.height;
  }));
}

struct PlaceLook {
  Vector at, along;
  double length = 0, straight = 0;  // the segment that is asked, and the longest that was straight
  double left = 0;                  // off a line, over the size of answers
  int halved = 0;
  bool done = false;
};

}  // namespace

Shapes tell_shapes(Meter& meter, const AnswerNoise& noise, std::uint64_t seed) {
  const Frame& frame = meter.frame();
  const Box& box = frame.box();
  const Index d = frame.inputs(), points = kShape.points;
  const double size = box.bounded() ? box.high - box.low : 1.0;
  const double first = (noise.relative > kShape.coarse ? kShape.first_coarse : kShape.first_fine) * size;
  const RowMatrix x = domain_inputs(frame, 1, sub_seed(seed, "shapes"), 0, kShape.places);
  RowMatrix v(kShape.places, d);
  Stream(seed, "extract shapes along").fill_normal(0, v);
  std::vector<PlaceLook> looks;
  for (Index i = 0; i < kShape.places; ++i) {
    // Towards the middle of a box, where there is one.
    Vector along = v.row(i);
    if (box.bounded())
      along = along.cwiseAbs().cwiseProduct((frame.origin() - x.row(i).transpose()).cwiseSign());
    looks.push_back({x.row(i).transpose(), along, first, 0, 0, 0, false});
  }
  Shapes out;
  std::vector<Step> steps;
  std::vector<double> roughness;
  for (;;) {
    std::vector<PlaceLook*> open;
    for (PlaceLook& each : looks)
      if (!each.done) open.push_back(&each);
    if (open.empty()) break;
    RowMatrix u(static_cast<Index>(open.size()) * points, d);
    for (std::size_t i = 0; i < open.size(); ++i) {
      const PlaceLook& each = *open[i];
      for (Index q = 0; q < points; ++q) {
        const double t = box.bounded() ? 2.0 * static_cast<double>(q) / static_cast<double>(points - 1)
                                       : 2.0 * static_cast<double>(q) / static_cast<double>(points - 1) - 1;
        u.row(static_cast<Index>(i) * points + q) = (each.at + t * each.length * each.along).transpose();
      }
    }
    if (box.bounded()) u = u.cwiseMax(box.low).cwiseMin(box.high);
    const RowMatrix y = meter.ask(QueryStage::kProbe, plain_rows(u));
    for (std::size_t i = 0; i < open.size(); ++i) {
      PlaceLook& each = *open[i];
      const Matrix some = y.middleRows(static_cast<Index>(i) * points, points);
      const double level = std::max({some.cwiseAbs().maxCoeff(), noise.typical, kTiny});
      const Fits fits = fits_of(some);
      const Shape shape = shape_of(fits, noise.at(level));
      const double before = each.left;
      each.left = fits.line / level;
      if (shape == Shape::kStraight) {
        each.straight = each.length;
        // Straight at half the length of what was unclear: the kinks lie in between.
        each.length = each.halved > 0 ? each.length * 1.5 : each.length * kShape.factor;
        each.done = each.length > kShape.longest * size || each.halved > kShape.halvings;
        if (each.halved > 0) ++each.halved;
        continue;
      }
      if (shape == Shape::kUnclear && each.halved < kShape.halvings) {
        ++each.halved;
        each.length = each.straight > 0 ? (each.length + each.straight) / 2 : each.length / 2;
        continue;
      }
      each.done = true;
      if (shape == Shape::kBend) ++out.bends;
      if (shape == Shape::kCurve) ++out.curves;
      if (shape == Shape::kStep) {
        ++out.steps;
        if (steps.size() < kShape.halved_steps)
          steps.push_back(highest_step(u.middleRows(static_cast<Index>(i) * points, points), some));
      }
      if (shape == Shape::kUnclear && each.left > kShape.falls * before) {
        ++out.rough;
        roughness.push_back(each.left);
      }
    }
  }
  out.jumps = jumps_among(std::move(steps), meter);
  if (!roughness.empty()) {
    std::nth_element(roughness.begin(), roughness.begin() + static_cast<std::ptrdiff_t>(roughness.size() / 2),
                     roughness.end());
    out.roughness = roughness[roughness.size() / 2];
  }
  return out;
}

}  // namespace exhume
