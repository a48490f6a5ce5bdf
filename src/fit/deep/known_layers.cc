#include "fit/deep/known_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fit/deep/peel.h"

namespace exhume {
namespace {

constexpr double kAgree = 1e-3;                // distance of units that two students agree on
constexpr double kDistinct = 5e-3;             // and below which two of one student are the same
constexpr double kKnownSteps = 30'000;         // of a student on a known first layer
constexpr std::uint64_t kOnKnown = 2'000'003;  // number of the first student on units that others agree on
constexpr std::uint64_t kPeelFrom = 2;  // number of the student from which on the layer above is searched too
constexpr double kGivenSteps = 150'000;  // and where that layer is given, which is all there is to learn
// Of the attempts on a given layer, those that are students where random units would do; attempts while rows are left.
constexpr std::uint64_t kStudentEvery = 3, kLooksAtLeft = 3;

bool near(const Vector& u, const Matrix& V, double tolerance) {
  for (Index j = 0; j < V.rows(); ++j)
    if (unit_distance(u, V.row(j).transpose(), true) < tolerance) return true;
  return false;
}

}  // namespace

void KnownLayers::above(const Matrix& first) {
  Form lower;
  lower.inputs = trials_.rows().x.cols();
  lower.V.push_back(first);
  normalise(lower);
  const DeepSearchOptions& options = trials_.options();
  const auto depth = static_cast<std::size_t>(options.depth);
  Lesson lesson;
  Index units = std::max(kLeastWidth, 3 * (options.widths ? options.widths->back() : first.rows()) / 2);
  lesson.widths.assign(depth, depth == 2 ? 6 * units / 5 : 2 * trials_.first_width());
  lesson.widths[0] = first.rows();
  lesson.steps = kGivenSteps;
  lesson.known = lower.V;
  lesson.fixed = true;
  const auto more = [&] {
    // Rows that are left over may be those of a unit that was read wrongly: that is worth another look.
    return !trials_.exact() || (trials_.best().left > 0 && lesson.number < kLooksAtLeft);
  };
  for (; more() && !trials_.control().out_of_time(); ++lesson.number) {
    const std::uint64_t turn = lesson.number % kStudentEvery;
    if (depth == 2 && turn > 0) {
      const double left = units_above(lower.V[0], units, lesson.number);
      if (left > kTrained || turn > 1) units = std::min(4 * units / 3, options.most_width);
      continue;
    }
    const double trained = trials_.attempt(lesson);
    const Index widest = *std::max_element(lesson.widths.begin() + 1, lesson.widths.end());
    if (trained > kTrained / 10 && 2 * widest <= options.most_width) {
      for (std::size_t l = 1; l < depth; ++l) lesson.widths[l] *= 2;
    } else if (lesson.steps < kMostSteps) {
      lesson.steps *= kLonger;
    }
  }
}

// Units of the last of two layers from random ones; what is left of the variance on most rows.
double KnownLayers::units_above(const Matrix& first, Index units, std::uint64_t number) {
  const Control& control = trials_.control();
  control.report(fmt::format("{} units above {}", units, first.rows()), 0);
  Form lower;
  lower.inputs = trials_.rows().x.cols();
  lower.V.push_back(first);
  const Polished rough =
      peel(lower, units, trials_.rows(), trials_.options().seed + 7919 * number, control);
  const Polished fixed = trials_.attempt_from(rough, kPatientPolish);
  const double left = fixed.relative_mse;
  if (trials_.exact() || control.out_of_time() || !(left < kTrained) || left < trials_.options().exact)
    return left;
  return trials_.attempt_from({loose(fixed.form), left, 0, true}, kSecondPolish).relative_mse;
}

void KnownLayers::remember(const Polished& polished) {
  if (polished.relative_mse > kTrained || polished.form.depth() < 2) return;
  Form form = polished.form;
  normalise(form);
  firsts_.push_back({form.V[0], form.widths(), polished.relative_mse, trials_.students()});
}

// Units of the first layer that independent students agree on, from the better one each.
Matrix KnownLayers::recurring() const {
  Matrix units(0, trials_.rows().x.cols() + 1);
  for (const First& first : firsts_) {
    for (Index i = 0; i < first.V.rows(); ++i) {
      const Vector u = first.V.row(i).transpose();
      if (near(u, units, kDistinct)) continue;
      bool again = false, better = false;
      for (const First& other : firsts_) {
        if (other.student == first.student || !near(u, other.V, kAgree)) continue;
        again = true;
        better = better || other.error < first.error;
      }
      if (!again || better) continue;
      units.conservativeResize(units.rows() + 1, Eigen::NoChange);
      units.row(units.rows() - 1) = u.transpose();
    }
  }
  return units;
}

void KnownLayers::above_recurring(std::uint64_t number) {
  const Matrix first = recurring();
  if (first.rows() == 0) return;
  const auto depth = static_cast<std::size_t>(trials_.options().depth);
  const Control& control = trials_.control();
  std::vector<Index> least = firsts_.front().widths;
  for (const First& other : firsts_)
    for (std::size_t l = 0; l < depth; ++l) least[l] = std::min(least[l], other.widths[l]);
  // Two, three and four times the units that the lightest student needed.
  for (Index times = 2; times <= 4 && !trials_.exact() && !control.out_of_time(); ++times) {
    Lesson lesson;
    lesson.widths = least;
    for (Index& width : lesson.widths) width = std::max<Index>(kLeastWidth, times * width);
    lesson.widths[0] = first.rows();
    lesson.steps = kKnownSteps;
    lesson.number = kOnKnown + 10 * number + static_cast<std::uint64_t>(times);
    lesson.known = {first};
    trials_.attempt(lesson);
  }
  if (!trials_.exact() && depth == 2 && number >= kPeelFrom && !control.out_of_time())
    units_above(first, 2 * least.back(), number);
}

}  // namespace exhume
