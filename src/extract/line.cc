#include "extract/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct LineLimits {
  // Tolerances in multiples of the noise of what is compared.
  double deviations = 15;
  // Length of an inherited tangent as a share of its interval, at most this many times that of a new one.
  double inherited = 20;
  // Where g is compared with both tangents beside their meeting point: share of the way to the nearer end.
  // With one output tangents always meet, and two kinks that both lie between the points compared pass for
  // one.
  double beside = 1e-5;
  // The same in errors of the meeting point, at least.
  double beside_errors = 4;
  // Intervals that are looked at together, at most: two for every kink, and some that hold none. The widest
  // networks that are measured have 256 kinks on a line; a function that bends everywhere has any number.
  std::size_t most_open = 4096, most_found = 2048;
};
constexpr LineLimits kLine;

// A tangent: from `from` over `length` (either sign) with slope (m).
struct Tangent {
  double length = 0;
  Vector slope;
  double error = 0;  // of the slope
};

struct Answer {
  Vector value;
  double noise = 0;
};

struct Interval {
  double theta_a = 0, theta_b = 0, a = 0, b = 0;
  Tangent left, right;  // length 0: to be asked for
  double meet = -1;     // t* - a of a candidate
  double beside = 0;
};

class Search {
 public:
  Search(const AskLine& ask, const LineOptions& options)
      : ask_(ask), options_(options), share_(options.tangent) {}

  LineKinks run() {
    std::vector<Interval> open;
    const double low = std::atan(options_.low / options_.scale),
                 high = std::atan(options_.high / options_.scale);
    for (int i = 0; i < options_.intervals; ++i) {
      const auto theta = [&](int j) { return low + (high - low) * j / options_.intervals; };
      open.push_back(make(theta(i), theta(i + 1)));
    }
    while (!open.empty()) {
      if (open.size() > kLine.most_open || found_.size() > kLine.most_found)
        throw TooManyKinks(std::max(open.size(), found_.size()));
      prepare(open);
      std::vector<Interval> candidates, halves;
      for (Interval& interval : open) {
        if (no_kink(interval)) continue;
        if (one_kink(interval)) {
          candidates.push_back(std::move(interval));
        } else {
          halve(interval, halves);
        }
      }
      confirm(candidates, halves);
      open = std::move(halves);
    }
    LineKinks out;
    out.at = std::move(found_);
    std::sort(out.at.begin(), out.at.end());
    out.given_up = given_up_;
    return out;
  }

 private:
  [[nodiscard]] Interval make(double theta_a, double theta_b) const {
    Interval out;
    out.theta_a = theta_a;
    out.theta_b = theta_b;
    out.a = options_.scale * std::tan(theta_a);
    out.b = options_.scale * std::tan(theta_b);
    return out;
  }

  [[nodiscard]] const Vector& at(double t) const { return known_.at(t).value; }

  void want(double t) {
    if (!known_.contains(t)) wanted_.push_back(t);
  }
  void ask_wanted() {
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    if (wanted_.empty()) return;
    const NoisyAnswers answers = ask_(wanted_);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto row = static_cast<Index>(i);
      known_.emplace(wanted_[i], Answer{answers.values.row(row).transpose(), answers.noise(row)});
    }
    wanted_.clear();
  }

  // Values and tangents at both ends of every interval.
  void prepare(std::vector<Interval>& open) {
    const auto fits = [this](const Tangent& tangent, double width) {
      return tangent.length > 0 &&
             tangent.length <= std::max(share_, std::min(0.1, kLine.inherited * share_)) * 1.01 * width;
    };
    for (Interval& each : open) {
      const double width = each.b - each.a;
      want(each.a);
      want(each.b);
      if (!fits(each.left, width)) {
        each.left = {};
        want(each.a + share_ * width);
      }
      if (!fits(each.right, width)) {
        each.right = {};
        want(each.b - share_ * width);
      }
    }
    ask_wanted();
    for (Interval& each : open) {
      const double width = each.b - each.a;
      if (each.left.length == 0) each.left = tangent(each.a, each.a + share_ * width);
      if (each.right.length == 0) each.right = tangent(each.b, each.b - share_ * width);
    }
  }

  [[nodiscard]] Tangent tangent(double from, double to) const {
    const Answer &first = known_.at(from), &second = known_.at(to);
    const double length = std::abs(to - from);
    return {length, (second.value - first.value) / (to - from), std::max(first.noise, second.noise) / length};
  }

  // How far a tangent may be off at the other end.
  [[nodiscard]] double tolerance(const Interval& each) const {
    return kLine.deviations * std::max(each.left.error, each.right.error) * (each.b - each.a);
  }

  [[nodiscard]] bool no_kink(const Interval& each) const {
    const double width = each.b - each.a;
    const Vector gap = at(each.b) - at(each.a) - each.left.slope * width;
    return gap.cwiseAbs().maxCoeff() <= tolerance(each) &&
           (each.right.slope - each.left.slope).cwiseAbs().maxCoeff() <= tolerance(each) / width;
  }

  [[nodiscard]] bool one_kink(Interval& each) {
    const double width = each.b - each.a;
    const Vector bend = each.left.slope - each.right.slope;
    if (bend.cwiseAbs().maxCoeff() <= tolerance(each) / width) return false;
    const Vector rise = at(each.b) - each.right.slope * width - at(each.a);
    const double t = rise.dot(bend) / bend.squaredNorm();
    if (!(t > 0 && t < width) || (rise - bend * t).cwiseAbs().maxCoeff() > tolerance(each)) return false;
    each.meet = t;
    each.beside =
        std::max(kLine.beside * std::min(t, width - t), kLine.beside_errors * tolerance(each) / bend.norm());
    if (each.a + t - each.beside <= each.a || each.a + t + each.beside >= each.b) return false;
    want(each.a + t - each.beside);
    want(each.a + t + each.beside);
    return true;
  }

  // Candidates for one kink, by g just before and just after; the others are halved.
  void confirm(std::vector<Interval>& candidates, std::vector<Interval>& halves) {
    ask_wanted();
    for (Interval& each : candidates) {
      const double before = each.a + each.meet - each.beside, after = each.a + each.meet + each.beside;
      const Vector left = at(before) - at(each.a) - each.left.slope * (before - each.a);
      const Vector right = at(after) - at(each.b) - each.right.slope * (after - each.b);
      if (left.cwiseAbs().maxCoeff() <= tolerance(each) && right.cwiseAbs().maxCoeff() <= tolerance(each)) {
        found_.push_back(sharpened(each, before, after));
      } else {
        halve(each, halves);
      }
    }
  }

  // The kink once more, from chords as long as the interval.
  [[nodiscard]] double sharpened(const Interval& each, double before, double after) const {
    const Vector left = (at(before) - at(each.a)) / (before - each.a);
    const Vector right = (at(each.b) - at(after)) / (each.b - after);
    const Vector bend = left - right;
    const Vector rise = at(after) - right * (after - before) - at(before);
    const double t = before + rise.dot(bend) / bend.squaredNorm();
    return t > before && t < after ? t : each.a + each.meet;
  }

  void halve(const Interval& each, std::vector<Interval>& halves) {
    const double middle = (each.theta_a + each.theta_b) / 2;
    Interval left = make(each.theta_a, middle), right = make(middle, each.theta_b);
    left.a = each.a;
    right.b = each.b;
    right.a = left.b;
    if (each.theta_b - each.theta_a < options_.narrowest || !(left.a < left.b && right.a < right.b)) {
      ++given_up_;
      return;
    }
    left.left = each.left;
    right.right = each.right;
    halves.push_back(std::move(left));
    halves.push_back(std::move(right));
  }

  const AskLine& ask_;
  const LineOptions& options_;
  double share_;
  std::map<double, Answer> known_;
  std::vector<double> wanted_, found_;
  int given_up_ = 0;
};

}  // namespace

TooManyKinks::TooManyKinks(std::size_t open)
    : std::runtime_error(fmt::format("outputs bend everywhere: {} parts of one line are straight nowhere, at "
                                     "the precision of the answers. "
                                     "So do outputs or inputs that are rounded to few digits, steps, noise, "
                                     "large terms that cancel, and "
                                     "steep smooth units: ask the model behind them with all digits",
                                     open)) {}

LineKinks kinks_on_line(const AskLine& ask, const LineOptions& options) { return Search(ask, options).run(); }

}  // namespace exhume
