#include "exhume/fit/deep/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "exhume/base/blas.h"
#include "exhume/base/random.h"
#include "exhume/fit/deep/peel.h"
#include "exhume/fit/deep/prune.h"
#include "exhume/fit/deep/student.h"
#include "fit/deep/finish.h"
#include "fit/deep/in_noise.h"
#include "fit/deep/most_rows.h"
#include "fit/deep/shuffled.h"
#include "fit/deep/to_rounding.h"

namespace exhume {
namespace {

constexpr Index kMostRows = 200'000;      // that are polished and pruned on
constexpr Index kCheckEach = 10;          // one row of so many is looked at but not fitted
constexpr double kTrained = 1e-4;         // relative error of a student that is worth a polish
constexpr double kTwins = 0.9999;         // correlation of features above which units are merged
constexpr double kStudentEquations = 20;  // an unknown, of the first student
constexpr Index kLeastWidth = 8;
constexpr double kFirstEquations = 8;  // an unknown, for the first polish
// Of one step of the polish that is still taken, and of one that costs less than the next student.
constexpr double kDenseFlops = 4e12, kDeviceFlops = 4e14, kMiddleFlops = 1e11;
// Units are left out before the polish as long as the error grows less than this, or stays below that; a few at a
// time, one of so many.
constexpr double kLighter = 50, kLittleLighter = 4, kLightest = 1e-7;
constexpr std::size_t kAtOnce = 12;
constexpr std::size_t kStudentsFirst = 4;  // attempts before all units of one student are polished
// A student's error on rows that were not fitted, over that of another, from which on rows are looked at for noise,
// and from which on a wider one is no gain.
constexpr double kHardlyBetter = 0.3, kNoGain = 0.8;
constexpr Index kNoisySteps = 20'000;
constexpr double kNoisyFlops = 2e11;  // of one step on all rows
constexpr Index kFewLeft = 3;         // rows, not fitted, that may be off beside those left over
constexpr double kAgree = 1e-3;       // distance of units that two students agree on
constexpr double kDistinct = 5e-3;    // and below which two of one student are the same
// Steps of the first student, factor when one led nowhere, and where that ends.
constexpr double kFirstSteps = 60'000, kLonger = 1.5, kMostSteps = 400'000;
constexpr double kDeeper = 4;           // times the steps, for more than two hidden layers
constexpr double kKnownSteps = 30'000;  // of a student on a known first layer
// Numbers of the students that look for a plainer network, and of those on a known first layer.
constexpr std::uint64_t kAgain = 1'000'003, kOnKnown = 2'000'003, kInNoise = 3'000'003;
constexpr std::uint64_t kPeelFrom = 2;  // number of the student from which on the layer above is searched too
constexpr int kFirstPolish = 8, kSecondPolish = 12;              // rounds at most
constexpr Index kNarrow = 48, kSmallBatch = 512, kBatch = 1024;  // rows a step, by width

// Training rows in memory, in an order drawn from the seed, so that the first ones are as good as any.
DeepData shuffled_rows(const SampleSource& samples, std::uint64_t seed) {
  const SamplePtr some = samples.rows() > kMostRows ? spread_subset(samples, kMostRows) : load(samples);
  const Index n = some->rows();
  SampleBlock block;
  some->read(0, n, block);
  const std::vector<Index> order = shuffled(n, Stream(seed, "deep order"));
  return {block.x()(order, Eigen::all), block.y()(order, Eigen::all)};
}

DeepData last_rows(DeepData& data) {
  std::vector<Index> listed(static_cast<std::size_t>(data.rows() / kCheckEach));
  std::iota(listed.begin(), listed.end(), data.rows() - static_cast<Index>(listed.size()));
  return data.take_out(listed);
}

// The form without units, layers above the known ones, that it can do without: those worth least, a few at a
// time, as long as the error with C solved again stays below `limit`.
DeepForm lightened(DeepForm form, std::size_t known, double limit, const DeepData& data,
                   const Control& control) {
  for (std::size_t l = form.depth(); l-- > known;) {
    while (form.V[l].rows() > 1 && !control.out_of_time()) {
      const DeepData rows = enough_rows(data, form, kFirstEquations);
      fit_linear_part(form, rows, control);
      const Vector worth = unit_worth(form, l, rows, control);
      std::vector<Index> order(static_cast<std::size_t>(worth.size()));
      std::iota(order.begin(), order.end(), Index{0});
      std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return worth(i) > worth(j); });
      order.resize(order.size() - std::max<std::size_t>(1, order.size() / kAtOnce));
      std::sort(order.begin(), order.end());
      DeepForm fewer = with_units(form, l, order);
      if (!(fit_linear_part(fewer, rows, control) < limit)) break;
      form = std::move(fewer);
    }
  }
  return form;
}

// What a search went through, and the best it found.
class Search {
 public:
  Search(const SampleSource& standard, const DeepSearchOptions& options, const Control& control)
      : options_(options),
        control_(control),
        data_(shuffled_rows(standard, options.seed)),
        check_(last_rows(data_)),
        single_(standard, options.seed, control) {
    // To begin with, a function that is linear.
    found_.form.inputs = data_.x.cols();
    found_.form.V.assign(static_cast<std::size_t>(options.depth), Matrix(0, data_.x.cols() + 1));
    found_.relative_mse = fit_linear_part(found_.form, data_, control);
    error_ = relative_error(found_.form, check_, control);
  }

  DeepFound run() {
    const auto depth = static_cast<std::size_t>(options_.depth);
    std::vector<Index> widths(depth, first_width());
    if (options_.widths) {
      for (std::size_t l = 0; l < depth; ++l) widths[l] = std::max<Index>(8, 3 * (*options_.widths)[l]);
    }
    const std::vector<Index> first_widths = widths;
    if (options_.first_layer.rows() > 0) {
      above_known(options_.first_layer);
      found_.attempts = std::move(attempts_);
      return std::move(found_);
    }
    double steps = kFirstSteps * (depth > 2 ? kDeeper : 1);
    for (std::uint64_t number = 0; !ended(); ++number) {
      if (control_.out_of_time()) {
        found_.out_of_time = true;
        break;
      }
      const double trained = attempt(widths, static_cast<Index>(steps), number);
      if (!ended() && !control_.out_of_time()) on_recurring(number);
      const Index widest = *std::max_element(widths.begin(), widths.end());
      if (trained > kTrained / 10 && 2 * widest <= options_.most_width && !overfits_) {
        for (Index& w : widths) w *= 2;
      } else if (steps < kMostSteps) {
        steps *= kLonger;
      }
      if (overfits_) widths = first_widths;
    }
    // Units that others could stand for are kept where no single one can go: once more on the first layer alone, and
    // once more from the beginning.
    if (confirmed_ && !found_.plain && found_.minimal && found_.form.V[0].rows() > 0) {
      std::vector<Index> above = found_.form.widths();
      for (std::size_t l = 1; l < depth; ++l) above[l] = std::max<Index>(kLeastWidth, 2 * above[l]);
      attempt(above, static_cast<Index>(kFirstSteps), kAgain, {found_.form.V[0]});
      if (!found_.plain && !control_.out_of_time()) attempt(widths, static_cast<Index>(steps), kAgain + 1);
    }
    found_.attempts = std::move(attempts_);
    return std::move(found_);
  }

 private:
  // With few rows, as many units as these can tell apart.
  [[nodiscard]] Index first_width() const {
    const auto equations = static_cast<double>(data_.rows() * data_.y.cols());
    Index width = options_.depth > 2 ? 4 * options_.first_width / 3 : options_.first_width;
    for (; width > kLeastWidth; --width) {
      const DeepForm form = random_student(
          data_.x.cols(), 1, std::vector<Index>(static_cast<std::size_t>(options_.depth), width), 0);
      if (kStudentEquations * static_cast<double>(form.unknowns()) <= equations) break;
    }
    return width;
  }

  [[nodiscard]] bool ended() const { return confirmed_ || found_.noise; }

  // A student that does hardly better than one before it: what is left may be noise.
  void look_for_noise(const DeepForm& form, bool polished) {
    if (!options_.structure_left || control_.out_of_time()) return;
    const double error = relative_error(form, check_, control_), least = least_rough_;
    least_rough_ = std::min(least, error);
    overfits_ = !polished && error > kNoGain * least;
    if (error < kHardlyBetter * least || flops_on_all(form) > kNoisyFlops) return;
    control_.report("noise", 0);
    if (polished && options_.structure_left(form) > 1) return;  // it has converged, and is not all there is
    DeepForm start = polished ? form : noisy_student();
    for (std::size_t l = 0; l < start.depth(); ++l) start = merge_units(start, l, kTwins, data_, control_);
    std::optional<DeepFound> found = finished_in_noise(start, data_, options_.structure_left, control_);
    if (!found) return;
    error_ = relative_error(found->form, check_, control_);
    found_ = std::move(*found);
  }

  // One that is not shown the noisiest rows more often than others.
  [[nodiscard]] DeepForm noisy_student() {
    StudentOptions training;
    training.steps = kNoisySteps;
    training.seed = options_.seed + kInNoise + 7919 * attempts_.size();
    training.hard_rows = false;
    const std::vector<Index> widths(static_cast<std::size_t>(options_.depth), first_width());
    const DeepForm start = random_student(data_.x.cols(), data_.y.cols(), widths, training.seed);
    Student student = train(start, single_, training, control_);
    attempts_.push_back({widths, student.relative_mse, 0});
    return std::move(student.form);
  }

  [[nodiscard]] double flops_on_all(const DeepForm& form) const {
    const auto p = static_cast<double>(form.unknowns());
    return p * p * static_cast<double>(data_.y.size());
  }

  // Trains a student and polishes what it found; returns the student's error. `known`: lowest layers, up to
  // scale and sign, that the student does not have to learn; `fixed`: nor the polish to mend.
  double attempt(const std::vector<Index>& widths, Index steps, std::uint64_t number,
                 const std::vector<Matrix>& known = {}, bool fixed = false) {
    StudentOptions training;
    training.steps = steps;
    training.batch = *std::max_element(widths.begin(), widths.end()) <= kNarrow ? kSmallBatch : kBatch;
    training.seed = options_.seed + 7919 * number;
    training.frozen = known.size();
    control_.report(fmt::format("student {}", fmt::join(widths, "-")), 0);
    DeepForm start = random_student(data_.x.cols(), data_.y.cols(), widths, training.seed);
    std::copy(known.begin(), known.end(), start.V.begin());
    Student student = train(start, single_, training, control_);
    attempts_.push_back({widths, student.relative_mse, 0});
    consider({student.form, student.relative_mse, 0, true});
    if (student.relative_mse > kTrained && known.empty()) look_for_noise(student.form, false);
    if (student.relative_mse > kTrained || control_.out_of_time()) return student.relative_mse;
    DeepForm form = std::move(student.form);
    std::copy(known.begin(), known.end(), form.V.begin());  // as they were, not in single precision
    if (fixed) form.given = known.size();
    for (std::size_t l = known.size(); l < form.depth(); ++l)
      form = merge_units(form, l, kTwins, data_, control_);
    // The fewer units, the cheaper the polish; but with too few it gets stuck.
    std::vector<Index> before;
    for (const double lighter : {kLighter, kLittleLighter, 0.0}) {
      const bool all = lighter == 0;
      const double limit =
          known.empty() ? std::clamp(lighter * student.relative_mse, kLightest, kTrained) : kTrained;
      // The next students may agree with this one, which costs less than a polish of all units.
      if (all && known.empty() && attempts_.size() < kStudentsFirst) break;
      if (!all && !known.empty() && !before.empty()) continue;
      const DeepForm begin = all ? form : lightened(form, known.size(), limit, data_, control_);
      if (begin.widths() == before) continue;
      if (!before.empty() && flops(begin) > (all ? most_flops() : kMiddleFlops)) continue;
      before = begin.widths();
      double left = polish_and_consider(begin, all ? kSecondPolish : kFirstPolish, known.empty());
      if (fixed && !ended() && !(left < options_.exact))
        left = polish_and_consider(loose(begin), kSecondPolish, false);
      if (ended() || control_.out_of_time() || left < options_.exact) break;
    }
    return student.relative_mse;
  }

  // A layer that is given may be so to few digits.
  [[nodiscard]] static DeepForm loose(DeepForm form) {
    form.given = 0;
    return form;
  }

  // Of one step of the polish that is still taken.
  [[nodiscard]] double most_flops() const { return control_.device ? kDeviceFlops : kDenseFlops; }

  [[nodiscard]] double flops(const DeepForm& form) const {
    const auto p = static_cast<double>(form.unknowns());
    return p * p * static_cast<double>(data_.y.cols()) *
           static_cast<double>(enough_rows(data_, form, kFirstEquations).rows());
  }

  // Polishes and considers what comes of it; its relative error.
  double polish_and_consider(const DeepForm& start, int rounds, bool new_first_layer) {
    const ToRounding out = to_rounding(start, data_, kFirstEquations, options_.exact, rounds, control_);
    double& best = attempts_.back().polished;
    best = best == 0 ? out.fit.relative_mse : std::min(best, out.fit.relative_mse);
    consider(out.fit, out.left, out.minimal);
    if (!confirmed_ && new_first_layer) {
      remember(out.fit);
      look_for_noise(out.fit.form, true);
    }
    return out.fit.relative_mse;
  }

  // First layers of polished students, each unit of unit norm.
  void remember(const DeepPolished& polished) {
    if (polished.relative_mse > kTrained || polished.form.depth() < 2) return;
    DeepForm form = polished.form;
    normalise(form);
    firsts_.push_back({form.V[0], form.widths(), polished.relative_mse, attempts_.size()});
  }

  // Units of the first layer that independent students agree on, from the better one each.
  [[nodiscard]] Matrix recurring() const {
    Matrix units(0, data_.x.cols() + 1);
    const auto near = [](const Vector& u, const Matrix& V, double tolerance) {
      for (Index j = 0; j < V.rows(); ++j)
        if (unit_distance(u, V.row(j).transpose(), true) < tolerance) return true;
      return false;
    };
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

  // The first layer is known: students learn what stands on it.
  void above_known(const Matrix& first) {
    DeepForm lower;
    lower.inputs = data_.x.cols();
    lower.V.push_back(first);
    normalise(lower);
    const auto depth = static_cast<std::size_t>(options_.depth);
    std::vector<Index> widths(depth, 2 * first_width());
    widths[0] = first.rows();
    double steps = kKnownSteps;
    for (std::uint64_t number = 0; !confirmed_; ++number) {
      if (control_.out_of_time()) {
        found_.out_of_time = true;
        return;
      }
      const double trained = attempt(widths, static_cast<Index>(steps), number, lower.V, true);
      if (number == 1 && !confirmed_ && depth == 2) peel_first(lower.V[0], number);
      const Index widest = *std::max_element(widths.begin() + 1, widths.end());
      if (trained > kTrained / 10 && 2 * widest <= options_.most_width) {
        for (std::size_t l = 1; l < depth; ++l) widths[l] *= 2;
      } else if (steps < kMostSteps) {
        steps *= kLonger;
      }
    }
  }

  // Units that students agree on are the network's: with the first layer known, what stands on it is learnt
  // faster and further. Where that leads nowhere the search for units of one layer has its turn.
  void on_recurring(std::uint64_t number) {
    const Matrix first = recurring();
    if (first.rows() == 0) return;
    const auto depth = static_cast<std::size_t>(options_.depth);
    std::vector<Index> least = firsts_.front().widths;
    for (const First& other : firsts_)
      for (std::size_t l = 0; l < depth; ++l) least[l] = std::min(least[l], other.widths[l]);
    // Two, three and four times the units that the lightest student needed.
    for (Index times = 2; times <= 4 && !confirmed_ && !control_.out_of_time(); ++times) {
      std::vector<Index> widths = least;
      for (Index& width : widths) width = std::max<Index>(kLeastWidth, times * width);
      widths[0] = first.rows();
      const std::uint64_t own = kOnKnown + 10 * number + static_cast<std::uint64_t>(times);
      attempt(widths, static_cast<Index>(kKnownSteps), own, {first});
    }
    if (!confirmed_ && depth == 2 && number >= kPeelFrom && !control_.out_of_time())
      peel_first(first, number);
  }

  // The layer above, found by the search for units of one layer. What the polish makes of it is a better first
  // layer, so up to three times.
  void peel_first(const Matrix& first, std::uint64_t number) {
    DeepForm lower;
    lower.inputs = data_.x.cols();
    lower.V.push_back(first);
    for (int round = 0; round < 3 && !confirmed_ && !control_.out_of_time(); ++round) {
      control_.report(fmt::format("layer above {} units", lower.V[0].rows()), 0);
      const Control some = control_.within(control_.seconds_left() / 4);
      const Peeled peeled = peel(lower, 2, data_, options_.seed + number, some);
      if (!peeled.searched || peeled.relative_mse > kTrained) return;
      attempts_.push_back({peeled.form.widths(), peeled.relative_mse, 0});
      const ToRounding out =
          to_rounding(peeled.form, data_, kFirstEquations, options_.exact, kSecondPolish, control_);
      attempts_.back().polished = out.fit.relative_mse;
      consider(out.fit, out.left, out.minimal);
      if (out.fit.relative_mse < options_.exact) return;
      lower.V[0] = out.fit.form.V[0];
    }
  }

  // Keeps what is best on rows that were not fitted. `left`: rows that it does not reproduce.
  void consider(const DeepPolished& polished, const std::vector<Index>& left = {}, bool minimal = false) {
    DeepFound now;
    now.form = polished.form;
    now.form.given = 0;
    now.relative_mse = polished.relative_mse;
    now.exact = polished.relative_mse < options_.exact;
    if (now.exact) now = finished(polished, data_, {options_.exact, minimal}, control_);
    if (!left.empty()) {
      if (std::optional<DeepFound> most =
              finished_on_most(polished.form, left, data_, {options_.exact, minimal}, control_))
        now = std::move(*most);
    }
    const double error = unseen_error(now);
    const bool confirmed = now.exact && error < options_.exact;
    // Of two that are exact the plain one, and otherwise the smaller error.
    const bool plainer = confirmed && now.plain && !found_.plain;
    const bool worse = confirmed_ && (!confirmed || (found_.plain && !now.plain));
    if (plainer || (!worse && error < error_)) {
      error_ = error;
      found_ = std::move(now);
      confirmed_ = confirmed;
      const std::vector<Index> widths = found_.form.widths();
      control_.best(found_.relative_mse, std::accumulate(widths.begin(), widths.end(), Index{0}));
    }
  }

  // On rows that were not fitted; of those left over as many may be off as among the fitted ones.
  [[nodiscard]] double unseen_error(const DeepFound& found) const {
    if (found.left == 0) return relative_error(found.form, check_, control_);
    DeepData rows = check_;
    const std::vector<Index> off = not_reproduced(found.form, rows, options_.exact, control_);
    if (static_cast<Index>(off.size()) <= kFewLeft + 3 * found.left / kCheckEach)
      static_cast<void>(rows.take_out(off));
    return relative_error(found.form, rows, control_);
  }

  struct First {
    Matrix V;
    std::vector<Index> widths;  // of all its layers
    double error = 1;
    std::size_t student = 0;
  };

  const DeepSearchOptions& options_;
  const Control& control_;
  DeepData data_;   // polished on
  DeepData check_;  // looked at
  StudentData single_;
  std::vector<First> firsts_;
  std::vector<DeepAttempt> attempts_;
  DeepFound found_;
  double least_rough_ = 1;  // error on check_ of what no polish made exact
  bool overfits_ = false;   // the last student did no better on rows that it did not see than one before
  double error_ = 0;        // of found_, on check_
  bool confirmed_ = false;  // found_ is exact there too
};

}  // namespace

DeepFound deep_search(const SampleSource& standard, const DeepSearchOptions& options,
                      const Control& control) {
  const SingleThreadedBlas single;
  return Search(standard, options, control).run();
}

}  // namespace exhume
