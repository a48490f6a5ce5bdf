#include "exhume/fit/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "exhume/base/blas.h"
#include "exhume/base/limits.h"
#include "fit/hardest_rows.h"
#include "fit/normal_sums.h"

namespace exhume {
namespace {

// Most rows on which the structure of the residual is tested, and to which a search is repeated.
constexpr Index kMostSearchRows = 40000;
// Most searches on ever larger subsets.
constexpr int kMostRounds = 6;
// Most passes over the units in search of one to turn around.
constexpr int kMostTurnRounds = 3;

Index search_unknowns(Index d, Index k, Index m) { return k * (d + m) + m * (d + 1); }

double sum_of_squares(const SeparableModel& model, const SampleSource& samples, const Control& control) {
  return residual_sums(model, samples, kBlockRows, control).squares.sum();
}

// How many more equations than unknowns a signed or sign-free fit leaves.
double freedom(const SampleSource& samples, const SeparableModel& model) {
  const Index unknowns = model.units() * model.inputs() + model.C.size();
  return static_cast<double>(std::max<Index>(samples.rows() * samples.outputs() - unknowns, 1));
}

SamplePtr weighted_outputs(const SamplePtr& samples, const Vector& weights) {
  const Index d = samples->inputs();
  return affine(samples, {Matrix::Identity(d, d), Vector::Zero(d), weights, Vector::Zero(weights.size())});
}

class Fitter {
 public:
  Fitter(const SamplePtr& samples, const FitOptions& options, const Control& control)
      : samples_(samples), options_(options), control_(control) {}

  Fit run(const Matrix& V) {
    find_units(V);
    if (fit_.outcome == SearchOutcome::kExact) {
      exact_finish();
      if (fit_.relative_mse <= kReproduced) return fit_;
      fit_.outcome = SearchOutcome::kStuck;
    }
    noisy_finish();
    if (fit_.relative_mse <= kReproduced) fit_.outcome = SearchOutcome::kExact;
    fit_.rows_per_unknown =
        static_cast<double>(samples_->rows() * samples_->outputs()) /
        static_cast<double>(search_unknowns(samples_->inputs(), fit_.model.units(), samples_->outputs()));
    return fit_;
  }

 private:
  void find_units(const Matrix& V) {
    const Index d = samples_->inputs(), m = samples_->outputs(), n = samples_->rows();
    const Index guess = options_.hidden.value_or(std::max<Index>(V.rows(), 4));
    Index rows = subset_rows(search_unknowns(d, guess, m));
    Matrix start = quick_start(V, rows);
    subset_ = spread_subset(*samples_, rows);
    for (int round = 0; round < kMostRounds; ++round) {
      search(start);
      start = sign_free_.V;
      if (control_.out_of_time()) break;
      // More rows make no fit exact that was not, and few stalled searches end well.
      if (fit_.stalled && (round > 0 || !options_.noise_is_final)) break;
      if (fit_.outcome == SearchOutcome::kExact) {
        if (exact_on_all_rows()) break;
        // Rows that the subset did not hold say otherwise: a unit that is seldom active. Look at
        // the worst of them.
        rows = std::min({n, 2 * rows, std::max(kMostSearchRows, rows)});
        subset_ = rows == n ? load(*samples_)
                            : joined(*spread_subset(*samples_, rows),
                                     *hardest_rows(sign_free_, *samples_, rows / 2, control_));
        continue;
      }
      // With noise, look again with more rows: a weak unit may only show there.
      const Index wanted = subset_rows(search_unknowns(d, sign_free_.units(), m));
      const Index next = std::min({n, std::max(wanted, 4 * rows), std::max(kMostSearchRows, wanted)});
      if (next <= rows) break;
      rows = next;
      subset_ = spread_subset(*samples_, rows);
    }
  }

  void search(const Matrix& start) {
    SearchOptions search_options;
    search_options.hidden = options_.hidden;
    search_options.seed = options_.seed;
    search_options.most_restarts = options_.most_restarts;
    search_options.thorough_pruning = options_.thorough_pruning;
    search_options.noise_is_final = options_.noise_is_final;
    search_options.polish = options_.polish;
    control_.report("search", 0);
    const SearchResult found = search_units(start, *subset_, search_options, control_);
    fit_.restarts += found.restarts;
    fit_.repairs += found.repairs;
    fit_.outcome = found.outcome;
    fit_.structure = found.structure;
    fit_.out_of_time = found.out_of_time;
    fit_.stalled = found.stalled;
    fit_.last_improvement = found.last_improvement;
    sign_free_ = found.model;
    for (const double value : found.descent) fit_.descent.push_back({false, value});
  }

  [[nodiscard]] bool exact_on_all_rows() const {
    const double left = sum_of_squares(sign_free_, *samples_, control_);
    return left / static_cast<double>(samples_->rows() * samples_->outputs()) <= kReproduced;
  }

  // Without noise a good start is exact after a few cheap steps on few rows; otherwise nothing is lost.
  [[nodiscard]] Matrix quick_start(const Matrix& V, Index rows) {
    if (V.rows() == 0 || (options_.hidden && V.rows() != *options_.hidden)) return V;
    const Index unknowns = search_unknowns(samples_->inputs(), V.rows(), samples_->outputs());
    const Index few = std::max<Index>(300, 5 * unknowns / samples_->outputs());
    if (few > rows / 2) return V;
    SeparableModel model;
    model.V = V;
    PolishOptions quick = options_.polish;
    quick.max_iterations = 12;
    quick.damping = 1e-4;
    const PolishSummary summary = polish(model, *spread_subset(*samples_, few), quick, control_);
    for (const double value : summary.descent) fit_.descent.push_back({false, value});
    return summary.relative_mse < SearchOptions().exact_relative ? summary.model.V : V;
  }

  [[nodiscard]] Index subset_rows(Index unknowns) const {
    const double wanted =
        options_.rows_per_unknown * static_cast<double>(unknowns) / static_cast<double>(samples_->outputs());
    const Index least = std::max<Index>(600, options_.least_rows / samples_->outputs());
    return std::min(samples_->rows(), std::max(least, static_cast<Index>(wanted)));
  }

  void record(const PolishSummary& summary) {
    for (const double value : summary.descent) fit_.descent.push_back({true, value});
  }

  void exact_finish() {
    fit_.signs = decide_signs(sign_free_, {});
    PolishOptions finish = options_.polish;
    finish.damping = 1e-8;
    const PolishSummary summary = polish(with_signs(sign_free_, fit_.signs), *subset_, finish, control_);
    record(summary);
    fit_.model = summary.model;
    const double left = sum_of_squares(fit_.model, *samples_, control_);
    fit_.relative_mse = left / static_cast<double>(samples_->rows() * samples_->outputs());
    fit_.noise_variance = Vector::Zero(samples_->outputs());
  }

  // The signed network with these signs after a short polish on the subset.
  [[nodiscard]] SeparableModel with_these_signs(const Vector& signs) const {
    SignDecision decision;
    decision.signs = signs;
    decision.outcome = SignOutcome::kUnique;
    PolishOptions quick = options_.polish;
    quick.max_iterations = 8;
    quick.damping = 1e-4;
    return polish(with_signs(sign_free_, decision), *subset_, quick, control_).model;
  }

  // Signs with noise: candidates from the linear term, decided by the sum of squares of the signed fit.
  void decide_noisy_signs() {
    // What a model leaves beyond the sign-free fit, over the variance: chi-squared with m d degrees of
    // freedom for the right signs, since the linear term is what they do without.
    const double open = sum_of_squares(sign_free_, *subset_, control_);
    const double variance = std::max(open / freedom(*subset_, sign_free_), kTiny);
    const auto excess = [&](const SeparableModel& model) {
      return (sum_of_squares(model, *subset_, control_) - open) / variance;
    };
    fit_.signs = decide_signs(sign_free_, {.tolerance = 1e-3});
    SignDecision& decision = fit_.signs;
    if (decision.signs.size() == 0 || !std::isfinite(decision.mismatch)) {
      decision.outcome =
          SignOutcome::kUndecided;  // no units, or too many to enumerate: the linear term stays
      return;
    }
    const double md = static_cast<double>(sign_free_.inputs() * sign_free_.C.cols());
    const double allowed = chi_squared_limit(md, kSignFalseAlarm, 1);
    SeparableModel best = with_these_signs(decision.signs);
    double best_excess = excess(best);
    turn_units(excess, allowed, decision.signs, best, best_excess);
    if (!(best_excess <= allowed)) {
      decision.outcome = SignOutcome::kUndecided;
      return;
    }
    best_signed_ = best;
    const bool plain = weakest_sign_is_plain(decision.signs, [&](const SeparableModel& turned) {
      return !(excess(turned) < best_excess + kDecisiveEvidence);
    });
    decision.outcome = plain ? SignOutcome::kUnique : SignOutcome::kAmbiguous;
  }

  // Greedy turns while they help: the weakest units are the ones the linear system gets wrong.
  template <class Excess>
  void turn_units(const Excess& excess, double allowed, Vector& signs, SeparableModel& best,
                  double& best_excess) const {
    for (int round = 0; round < kMostTurnRounds && best_excess > allowed; ++round) {
      bool turned = false;
      for (Index j = 0; j < signs.size() && !control_.out_of_time(); ++j) {
        Vector other = signs;
        other(j) *= -1;
        const SeparableModel model = with_these_signs(other);
        const double value = excess(model);
        if (value < best_excess) {
          best = model;
          best_excess = value;
          signs = other;
          turned = true;
        }
      }
      if (!turned) break;
    }
  }

  // The weakest unit turned around must fit significantly worse, or its sign is a guess.
  template <class Worse>
  [[nodiscard]] bool weakest_sign_is_plain(const Vector& signs, const Worse& worse) const {
    Index weakest = 0;
    sign_free_.C.topRows(signs.size()).rowwise().norm().minCoeff(&weakest);
    Vector other = signs;
    other(weakest) *= -1;
    const SeparableModel turned = with_these_signs(other);
    // A polish that turns the unit back is no competitor.
    const Index d = turned.inputs();
    const bool stayed =
        other(weakest) * turned.V.row(weakest).head(d).dot(sign_free_.V.row(weakest).head(d)) > 0;
    return !stayed || worse(turned);
  }

  void noisy_finish() {
    const Index m = samples_->outputs();
    decide_noisy_signs();
    SeparableModel start =
        fit_.signs.outcome == SignOutcome::kUndecided ? with_signs(sign_free_, fit_.signs) : best_signed_;
    // Weights from the residuals of this fit, then the efficient fit on all rows.
    const ResidualSums rough = residual_sums(start, *samples_, kBlockRows, control_);
    const double rows = static_cast<double>(samples_->rows());
    const Vector spread =
        (rough.squares / rows).cwiseMax(1e-24 * rough.squares.mean() / rows).cwiseMax(kTiny).cwiseSqrt();
    const SamplePtr weighted = weighted_outputs(samples_, spread.cwiseInverse());
    start.C = start.C * spread.cwiseInverse().asDiagonal();
    PolishOptions finish = options_.polish;
    finish.damping = 1e-6;
    finish.max_iterations = 12;
    finish.least_progress = 1e-9;
    finish.patience = 1;
    finish.block_rows = kBlockRows;
    control_.report("finish", 0);
    PolishSummary summary = polish(start, *weighted, finish, control_);
    fit_.model = summary.model;
    fit_.model.C = fit_.model.C * spread.asDiagonal();
    const ResidualSums left = residual_sums(fit_.model, *samples_, kBlockRows, control_);
    fit_.relative_mse = left.squares.sum() / (rows * static_cast<double>(m));
    const double per_output =
        rows - static_cast<double>(search_unknowns(samples_->inputs(), fit_.model.units(), m)) /
                   static_cast<double>(m);
    fit_.noise_variance = left.squares / std::max(per_output, 1.0);
    fit_.descent.push_back({true, fit_.relative_mse});
  }

  SamplePtr samples_;
  const FitOptions& options_;
  const Control& control_;
  SamplePtr subset_;
  SeparableModel sign_free_, best_signed_;
  Fit fit_;
};

}  // namespace

Index free_parameters(Index inputs, Index hidden, Index outputs) {
  return hidden * (inputs + outputs) + outputs;
}

Fit fit_units(const Matrix& V, const SamplePtr& standard, const FitOptions& options, const Control& control) {
  const SingleThreadedBlas single;
  return Fitter(standard, options, control).run(V);
}

}  // namespace exhume
