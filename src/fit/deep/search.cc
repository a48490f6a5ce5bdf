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
#include "fit/deep/shuffled.h"

namespace exhume {
namespace {

constexpr Index kMostRows = 200'000;      // that are polished and pruned on
constexpr Index kCheckEach = 10;          // one row of so many is looked at but not fitted
constexpr double kTrained = 1e-4;         // relative error of a student that is worth a polish
constexpr double kTwins = 0.9999;         // correlation of features above which units are merged
constexpr double kStudentEquations = 20;  // an unknown, of the first student
constexpr Index kLeastWidth = 8;
constexpr double kEquations = 12;       // an unknown, for the first polish
constexpr double kPlainEquations = 40;  // for the last one
constexpr double kLastDigits = 1e-31;
constexpr double kDenseFlops = 4e12;  // of one step of the polish that is still taken
constexpr double kAgree = 1e-3;       // distance of units that two students agree on
constexpr double kDistinct = 5e-3;    // and below which two of one student are the same
// Steps of the first student, factor when one led nowhere, and where that ends.
constexpr double kFirstSteps = 60'000, kLonger = 1.5, kMostSteps = 400'000;
constexpr int kFirstPolish = 20, kSecondPolish = 40;             // steps at most
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

// The form without the share of units of every layer that is worth least.
DeepForm best_units(DeepForm form, double share, const DeepData& data, const Control& control) {
  for (std::size_t l = form.depth(); l-- > 0;) {
    const DeepData rows = enough_rows(data, form, kEquations);
    fit_linear_part(form, rows, control);
    const Vector worth = unit_worth(form, l, rows, control);
    std::vector<Index> order(static_cast<std::size_t>(worth.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return worth(i) > worth(j); });
    order.resize(static_cast<std::size_t>(std::ceil((1 - share) * static_cast<double>(worth.size()))));
    std::sort(order.begin(), order.end());
    form = with_units(form, l, order);
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
    if (options_.first_layer.rows() > 0) {
      peel_first(options_.first_layer, 0);
      found_.attempts = std::move(attempts_);
      return std::move(found_);
    }
    double steps = kFirstSteps;
    for (std::uint64_t number = 0; !confirmed_; ++number) {
      if (control_.out_of_time()) {
        found_.out_of_time = true;
        break;
      }
      const double trained = attempt(widths, static_cast<Index>(steps), number);
      if (!confirmed_ && depth == 2 && !control_.out_of_time()) peel_first(recurring(), number);
      const Index widest = *std::max_element(widths.begin(), widths.end());
      if (trained > kTrained / 10 && 2 * widest <= options_.most_width) {
        for (Index& w : widths) w *= 2;
      } else if (steps < kMostSteps) {
        steps *= kLonger;
      }
    }
    found_.attempts = std::move(attempts_);
    return std::move(found_);
  }

 private:
  // With few rows, as many units as these can tell apart.
  [[nodiscard]] Index first_width() const {
    const auto equations = static_cast<double>(data_.rows() * data_.y.cols());
    Index width = options_.first_width;
    for (; width > kLeastWidth; --width) {
      const DeepForm form = random_student(
          data_.x.cols(), 1, std::vector<Index>(static_cast<std::size_t>(options_.depth), width), 0);
      if (kStudentEquations * static_cast<double>(form.unknowns()) <= equations) break;
    }
    return width;
  }

  // Trains a student and polishes what it found; returns the student's error.
  double attempt(const std::vector<Index>& widths, Index steps, std::uint64_t number) {
    StudentOptions training;
    training.steps = steps;
    training.batch = *std::max_element(widths.begin(), widths.end()) <= kNarrow ? kSmallBatch : kBatch;
    training.seed = options_.seed + 7919 * number;
    control_.report(fmt::format("student {}", fmt::join(widths, "-")), 0);
    Student student = train(random_student(data_.x.cols(), data_.y.cols(), widths, training.seed), single_,
                            training, control_);
    attempts_.push_back({widths, student.relative_mse, 0});
    consider({student.form, student.relative_mse, 0, true});
    if (student.relative_mse > kTrained || control_.out_of_time()) return student.relative_mse;
    DeepForm form = std::move(student.form);
    for (std::size_t l = 0; l < form.depth(); ++l) form = merge_units(form, l, kTwins, data_, control_);
    // The fewer units, the cheaper the polish; but with too few it gets stuck.
    for (double share : {0.4, 0.0}) {
      const DeepForm start = share > 0 ? best_units(form, share, data_, control_) : form;
      if (share == 0 && flops(start) > kDenseFlops) break;
      const DeepPolished polished = polish_to_rounding(start, share > 0 ? kFirstPolish : kSecondPolish);
      double& best = attempts_.back().polished;
      best = best == 0 ? polished.relative_mse : std::min(best, polished.relative_mse);
      consider(polished);
      if (confirmed_ || control_.out_of_time()) break;
      remember(polished);
      if (polished.relative_mse < options_.exact) break;
    }
    return student.relative_mse;
  }

  [[nodiscard]] double flops(const DeepForm& form) const {
    const auto p = static_cast<double>(form.unknowns());
    return p * p * static_cast<double>(data_.y.cols()) *
           static_cast<double>(enough_rows(data_, form, kEquations).rows());
  }

  DeepPolished polish_to_rounding(const DeepForm& start, int iterations) {
    DeepPolishOptions polishing;
    polishing.max_iterations = iterations;
    polishing.hope = 6;
    polishing.hopeful = options_.exact;
    polishing.enough_relative = 1e-26;
    return polish_all(start, data_, kEquations, options_.exact, polishing, control_);
  }

  // First layers of polished students, each unit of unit norm.
  void remember(const DeepPolished& polished) {
    if (polished.relative_mse > kTrained || polished.form.depth() < 2) return;
    DeepForm form = polished.form;
    normalise(form);
    firsts_.push_back({form.V[0], polished.relative_mse, attempts_.size()});
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

  // Units that students agree on are the network's: with the first layer known, the layer above is a problem
  // of one hidden layer. What the polish makes of it is a better first layer, so up to three times.
  void peel_first(const Matrix& first, std::uint64_t number) {
    if (first.rows() == 0) return;
    DeepForm lower;
    lower.inputs = data_.x.cols();
    lower.V.push_back(first);
    for (int round = 0; round < 3 && !confirmed_ && !control_.out_of_time(); ++round) {
      control_.report(fmt::format("layer above {} units", lower.V[0].rows()), 0);
      const Control some = control_.within(control_.seconds_left() / 4);
      const Peeled peeled = peel(lower, 2, data_, options_.seed + number, some);
      if (!peeled.searched || peeled.relative_mse > kTrained) return;
      attempts_.push_back({peeled.form.widths(), peeled.relative_mse, 0});
      const DeepPolished polished = polish_to_rounding(peeled.form, kSecondPolish);
      attempts_.back().polished = polished.relative_mse;
      consider(polished);
      if (polished.relative_mse < options_.exact) return;
      lower.V[0] = polished.form.V[0];
    }
  }

  // Keeps what is best on rows that were not fitted.
  void consider(const DeepPolished& polished) {
    DeepFound now;
    now.form = polished.form;
    now.relative_mse = polished.relative_mse;
    now.exact = polished.relative_mse < options_.exact;
    if (now.exact) finish(polished, now);
    const double error = relative_error(now.form, check_, control_);
    if (error < error_) {
      error_ = error;
      found_ = std::move(now);
      confirmed_ = found_.exact && error < options_.exact;
    }
  }

  // Fewer units, signs, last digits.
  void finish(const DeepPolished& polished, DeepFound& found) {
    PruneOptions pruning;
    pruning.exact = options_.exact;
    const Pruned pruned = prune(polished, data_, pruning, control_);
    found.minimal = pruned.minimal;
    found.out_of_time = control_.out_of_time();
    const DeepSigns signs = find_signs(pruned.fit.form);
    found.signs = signs.layers;
    found.signs_determined = signs.determined;
    // Signs that are far from +-1 may still be right: rows that say little of a unit leave its skip terms open.
    DeepPolished last = last_digits(signs.form);
    found.plain = last.relative_mse < options_.exact;
    if (!found.plain) last = last_digits(pruned.fit.form);
    found.form = std::move(last.form);
    found.relative_mse = last.relative_mse;
    found.exact = last.relative_mse < options_.exact;
  }

  DeepPolished last_digits(const DeepForm& start) {
    DeepPolishOptions polishing;
    polishing.enough_relative = kLastDigits;
    DeepPolished out = polish(start, enough_rows(data_, start, kPlainEquations), polishing, control_);
    out.relative_mse = relative_error(out.form, data_, control_);
    if (out.relative_mse < options_.exact || !(out.relative_mse < kTrained)) return out;
    return polish(out.form, data_, polishing, control_);
  }

  struct First {
    Matrix V;
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
