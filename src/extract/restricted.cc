#include "extract/restricted.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "extract/bend.h"
#include "extract/line_units.h"
#include "extract/restricted_fit.h"

namespace exhume {
namespace {

// How far a polished model's values are off, in relative noises of the answers.
constexpr double kPolishedError = 4;
constexpr int kNoisyLines = 6;  // after which noisy answers are fitted whatever lines show
// Units that are enough to tell a single hidden layer, those that are looked at after a line, the step across their planes over
// the planes' distance, how far a jump may be from what it was on the line, and jumps of another size that a single hidden
// layer does not have: one may be two close kinks of a line that passed for one.
constexpr Index kFewUnits = 4, kLookedAt = 12, kOtherJumps = 2;
constexpr double kLookStep = 2e-4, kSameJump = 0.2;
constexpr int kLooks = 3;
constexpr double kCoarse = 1e-12;  // noise from which jumps on a line are too rough to be told from others
constexpr int kFewIntervals = 16;  // of lines along which few kinks are left

class Finder {
 public:
  Finder(Meter& meter, const RestrictedOptions& options)
      : options_(options),
        space_{&meter, options.noise, false},
        s_(space_.dimensions()),
        fit_(space_, options.seed, options.fit_share) {}

  Restricted run() {
    out_.scale = std::sqrt(static_cast<double>(space_.meter->frame().inputs()));
    bool polished = false;
    for (out_.lines = 0; out_.lines < options_.most_lines; ++out_.lines) {
      const Index changed =
          follow_line(polished ? kPolishedError * options_.noise.relative : fit_.start_error());
      if (changed == 0 && polished) break;
      if (looks_ < kLooks && !polished && options_.noise.relative <= kCoarse && model_.units() >= kFewUnits &&
          deeper()) {
        out_.deeper = true;
        break;
      }
      const bool enough = out_.lines + 1 == options_.most_lines ||
                          (fit_.noisy() && out_.lines > 0 && out_.lines % kNoisyLines == 0);
      if (changed > 0 || !polished) polished = fit_.fit(model_, out_.scale, enough);
      if (fit_.searched() && polished) break;  // lines that show less than the search did say nothing
    }
    out_.complete = polished;
    out_.worst = fit_.worst();
    out_.model = model_;
    return out_;
  }

 private:
  // Asks at other places of the planes of some units whether they bend f there by as much. Of a deep network's kinks on a line
  // some may do so everywhere near, so that later lines are looked at too.
  [[nodiscard]] bool deeper() {
    const Index k = model_.units(), n = std::min(k, kLookedAt);
    std::vector<double> far;
    for (Index j = 0; j < k; ++j) far.push_back(std::abs(model_.V(j, s_)));
    std::sort(far.begin(), far.end());
    const double spread = std::max(far[far.size() / 2], 1e-6);
    RowMatrix u(n, s_), w(n, s_);
    Stream(options_.seed, "extract looked at")
        .fill_normal(static_cast<std::uint64_t>(kLookedAt * looks_++), u);
    for (Index i = 0; i < n; ++i) {
      const Index j = i * k / n;
      w.row(i) = model_.V.row(j).head(s_);
      const Vector along = u.row(i).transpose().normalized();
      u.row(i) *=
          space_.bounded() ? 0.5 * space_.reach(Vector::Zero(s_), along) / u.row(i).norm() : 2 * spread;
      u.row(i) -= (u.row(i).dot(w.row(i)) + model_.V(j, s_)) * w.row(i);
      if (const double reach = space_.reach(Vector::Zero(s_), u.row(i).transpose()); reach < 1)
        u.row(i) *= 0.9 * reach;
    }
    const std::vector<Bend> bends = bends_at(space_, "depth", u, w, Vector::Constant(n, kLookStep * spread));
    Index judged = 0;
    for (Index i = 0; i < n; ++i) {
      const Index j = i * k / n;
      if (std::abs(u.row(i).dot(w.row(i)) + model_.V(j, s_)) > 1e-9 * spread)
        continue;  // the box was in the way
      const Vector expected = 2 * model_.C.row(j).transpose();
      ++judged;
      if ((bends[static_cast<std::size_t>(i)].jump - expected).norm() > kSameJump * expected.norm())
        ++other_jumps_;
    }
    return judged >= kFewUnits && other_jumps_ >= kOtherJumps;
  }

  // A line and its units into the model; returns how many are new.
  Index follow_line(double model_error) {
    const Stream random(options_.seed, "extract line " + std::to_string(out_.lines));
    const Matrix drawn = random.normal_matrix(s_, 2);
    Vector p = Vector::Zero(s_);
    if (out_.lines > 0) {
      p = drawn.col(1) * (out_.scale / std::sqrt(static_cast<double>(s_)) / 2);
      if (const double reach = space_.reach(Vector::Zero(s_), p); reach < 2) p *= reach / 2;
    }
    Vector v = drawn.col(0).normalized();
    // From the middle, where the first line ran, to where most is left: there is a kink in between.
    if (out_.lines % 3 != 0 && fit_.worst_place().size() > 0) {
      v = fit_.worst_place().normalized();
      p.setZero();
    }
    LineTask task = line_through(space_, p, v, options_.farthest * out_.scale);
    if (out_.lines > 0) task.intervals = kFewIntervals;
    if (!space_.bounded()) task.scale = out_.scale;
    task.model_error = model_error;
    task.seed = options_.seed + 1000003 * static_cast<std::uint64_t>(out_.lines);
    const LineUnits found = units_of_line(space_, task, model_);
    if (out_.lines == 0) {
      out_.line = {task.low, task.high};
      out_.kinks = found.kinks;
    }
    return found.changed;
  }

  const RestrictedOptions& options_;
  Space space_;
  Index s_;
  SeparableModel model_;
  RestrictedFit fit_;
  int looks_ = 0;
  Index other_jumps_ = 0;
  Restricted out_;
};

}  // namespace

Restricted restricted_network(Meter& meter, const RestrictedOptions& options) {
  return Finder(meter, options).run();
}

}  // namespace exhume
