#include "fit/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/blas.h"
#include "base/limits.h"
#include "fit/residuals.h"
#include "fit/sums.h"

namespace exhume {
namespace {

// Most rows on which the structure of the residual is tested, and to which a search is repeated.
constexpr Index kMostSearchRows = 40000;
// Limits of the growth by single units where students come next: units, random starts, and flops (under a
// second of work).
constexpr Index kHandful = 12;
constexpr int kHandfulRestarts = 2;
constexpr double kHandfulWork = 2e10;
// Steps of a polish that a search from given units may take before it asks whether the samples look like
// another kind of function.
constexpr double kFirstLookSteps = 40;
// The search goes on from students where they leave less than this share of what the first handful of units
// left; more units always leave a little less of few rows.
constexpr double kBetterStart = 0.5;
// Most searches on ever larger subsets.
constexpr int kMostRounds = 6;
// Most passes over the units in search of one to turn around.
constexpr int kMostTurnRounds = 3;
// Most sign vectors that are tried beside the best.
constexpr int kMostRivals = 8;
// Standard errors by which a sign vector may miss the linear term and still be the right one.
constexpr double kRivalDeviations = 20;
// How often a sign vector that is right may be rejected where another one fits too.
constexpr double kRivalFalseAlarm = 1e-5;
// Rows times weights above which a fit that leaves structure is not worth passes over all rows.
constexpr double kMostWhenStuck = 1e10;
// Most times that all rows are fitted with new weights, and the share of the assumed noise above which the
// weights were right.
constexpr int kMostWeightings = 8;
constexpr double kSameNoise = 0.5;

double sum_of_squares(const Form& model, const SampleSource& samples, const Control& control) {
  return residual_sums(model, samples, kBlockRows, control).squares.sum();
}

// How many more equations than unknowns a signed or sign-free fit leaves.
double freedom(const SampleSource& samples, const Form& model) {
  const Index unknowns = model.units() * model.inputs + model.C.size();
  return static_cast<double>(std::max<Index>(samples.rows() * samples.outputs() - unknowns, 1));
}

class Fitter {
 public:
  Fitter(const SamplePtr& samples, const FitOptions& options, const Control& control)
      : samples_(samples), options_(options), control_(control) {}

  Fit run(const Matrix& V) {
    find_units(V);
    if (fit_.given_up) {
      fit_.outcome = SearchOutcome::kStuck;
      fit_.model = sign_free_;
      fit_.relative_mse = search_mse_;
      fit_.signs.outcome = SignOutcome::kUndecided;
      fit_.noise_covariance = residual_products(sign_free_, *subset_, kBlockRows, control_) /
                              static_cast<double>(subset_->rows());
      return fit_;
    }
    if (fit_.outcome == SearchOutcome::kExact && !options_.rounding) {
      exact_finish();
      if (fit_.relative_mse <= kReproduced) return fit_;
      fit_.outcome = SearchOutcome::kStuck;
    }
    noisy_finish();
    if (fit_.relative_mse <= std::max(kReproduced, rounding_level(*samples_)))
      fit_.outcome = SearchOutcome::kExact;
    return fit_;
  }

 private:
  void find_units(const Matrix& V) {
    const Index d = samples_->inputs(), m = samples_->outputs(), n = samples_->rows();
    const Index guess = options_.hidden.value_or(std::max<Index>(V.rows(), 4));
    Index rows = subset_rows(search_unknowns(d, guess, m));
    Matrix start = quick_start(V, rows);
    subset_ = spread_subset(*samples_, rows);
    if (options_.many_units && start.rows() == 0) {
      search(start, control_.within_work(kHandfulWork), true);
      start = sign_free_.V[0];
      // On few rows weak units look like noise: students see all rows, and where there is nothing but noise
      // they cost little.
      if (fit_.outcome != SearchOutcome::kExact && !control_.out_of_time()) {
        if (gives_up()) return;
        const Matrix many = options_.many_units();
        if (gives_up()) return;  // the kind may be told by what many units leave
        Form students = one_layer(many);
        if (many.rows() > 0 &&
            fit_linear_part(students, *subset_, options_.polish, control_) < kBetterStart * search_mse_) {
          start = many;
          rows = subset_rows(search_unknowns(d, start.rows(), m));
          subset_ = spread_subset(*samples_, rows);
        }
      }
    }
    bool may_give_up = options_.another_kind && !options_.many_units;
    for (int round = 0; round < kMostRounds; ++round) {
      search(start, may_give_up ? control_.within_work(first_look(start.rows())) : control_, false);
      start = sign_free_.V[0];
      if (control_.out_of_time()) break;
      if (may_give_up && fit_.outcome != SearchOutcome::kExact) {
        if (gives_up()) return;
        may_give_up = false;
        if (fit_.out_of_time) {  // of the first look, not of the search
          --round;
          continue;
        }
      }
      // More rows do not make an inexact fit exact, and few stalled searches end well.
      if (fit_.stalled && (round > 0 || !options_.noise_is_final)) break;
      if (fit_.outcome == SearchOutcome::kExact) {
        if (exact_on_all_rows()) break;
        // Other rows than those of the subset are not reproduced: a unit that is seldom active is missing.
        // Take the worst of them into the subset.
        rows = std::min({n, 2 * rows, std::max(kMostSearchRows, rows)});
        subset_ = rows == n ? load(*samples_)
                            : joined(*spread_subset(*samples_, rows),
                                     *hardest_rows(sign_free_, *samples_, rows / 2, control_));
        continue;
      }
      // What is left is no more than the rounding of a computation in lower precision: few rows show that.
      if (fit_.outcome == SearchOutcome::kNoise && options_.rounding &&
          search_mse_ <= options_.rounding->computed)
        break;
      // With noise, look again with more rows: a weak unit may only show there.
      const Index wanted = subset_rows(search_unknowns(d, sign_free_.units(), m));
      const Index next = std::min({n, std::max(wanted, 4 * rows), std::max(kMostSearchRows, wanted)});
      if (next <= rows) break;
      rows = next;
      subset_ = spread_subset(*samples_, rows);
    }
  }

  // Flops after which a search from so many units asks whether it looks for the right kind.
  [[nodiscard]] double first_look(Index units) const {
    const auto unknowns =
        static_cast<double>(search_unknowns(samples_->inputs(), units, samples_->outputs()));
    return std::max(kHandfulWork,
                    kFirstLookSteps * static_cast<double>(subset_->rows()) * unknowns * unknowns);
  }

  bool gives_up() {
    fit_.given_up = options_.another_kind && options_.another_kind();
    return fit_.given_up;
  }

  void search(const Matrix& start, const Control& control, bool handful) {
    SearchOptions search_options;
    search_options.hidden = options_.hidden;
    search_options.seed = options_.seed;
    search_options.most_restarts = handful ? kHandfulRestarts : options_.most_restarts;
    if (handful) search_options.most_hidden = kHandful;
    search_options.thorough_pruning = options_.thorough_pruning;
    search_options.noise_is_final = options_.noise_is_final;
    search_options.polish = options_.polish;
    search_options.exact_relative = std::max(search_options.exact_relative, rounding_level(*subset_));
    if (options_.rounding) search_options.nearly_exact = options_.rounding->computed;
    control_.report("search", 0);
    const SearchResult found = search_units(start, *subset_, search_options, control);
    fit_.restarts += found.restarts;
    fit_.repairs += found.repairs;
    fit_.outcome = found.outcome;
    fit_.structure = found.structure;
    search_mse_ = found.relative_mse;
    fit_.out_of_time = found.out_of_time;
    fit_.stalled = found.stalled;
    fit_.last_improvement = found.last_improvement;
    sign_free_ = found.model;
    for (const double value : found.descent) fit_.descent.push_back({false, value});
  }

  // The relative mean square up to which what is left of these rows is the rounding of their outputs.
  [[nodiscard]] double rounding_level(const SampleSource& rows) const {
    if (!options_.rounding) return 0;
    return options_.rounding->level(static_cast<double>(rows.rows() * rows.outputs()));
  }

  [[nodiscard]] bool exact_on_all_rows() const {
    const double left = sum_of_squares(sign_free_, *samples_, control_);
    return left / static_cast<double>(samples_->rows() * samples_->outputs()) <=
           std::max(kReproduced, rounding_level(*samples_));
  }

  // Without noise a good start is exact after a few cheap steps on few rows; otherwise nothing is lost.
  [[nodiscard]] Matrix quick_start(const Matrix& V, Index rows) {
    if (V.rows() == 0 || (options_.hidden && V.rows() != *options_.hidden)) return V;
    const Index unknowns = search_unknowns(samples_->inputs(), V.rows(), samples_->outputs());
    const Index few = std::max<Index>(300, 5 * unknowns / samples_->outputs());
    if (few > rows / 2) return V;
    PolishOptions quick = options_.polish;
    quick.max_iterations = 12;
    quick.damping = 1e-4;
    const Polished summary = polish(one_layer(V), *spread_subset(*samples_, few), quick, control_);
    for (const double value : summary.descent) fit_.descent.push_back({false, value});
    const double exact = std::max(SearchOptions().exact_relative, rounding_level(*samples_));
    return summary.relative_mse < exact ? summary.form.V[0] : V;
  }

  [[nodiscard]] Index subset_rows(Index unknowns) const {
    const double wanted =
        options_.rows_per_unknown * static_cast<double>(unknowns) / static_cast<double>(samples_->outputs());
    const Index least = std::max<Index>(600, options_.least_rows / samples_->outputs());
    return std::min(samples_->rows(), std::max(least, static_cast<Index>(wanted)));
  }

  void record(const Polished& summary) {
    for (const double value : summary.descent) fit_.descent.push_back({true, value});
  }

  void exact_finish() {
    fit_.signs = decide_signs(sign_free_, {});
    PolishOptions finish = options_.polish;
    finish.damping = 1e-8;
    const Polished summary = polish(with_signs(sign_free_, fit_.signs), *subset_, finish, control_);
    record(summary);
    fit_.model = summary.form;
    const double left = sum_of_squares(fit_.model, *samples_, control_);
    fit_.relative_mse = left / static_cast<double>(samples_->rows() * samples_->outputs());
    fit_.noise_covariance = Matrix::Zero(samples_->outputs(), samples_->outputs());
  }

  // Outputs mixed so that the noise of `model`'s residuals is independent with variance 1.
  [[nodiscard]] OutputMixing mixing_of(const Form& model, const SampleSource& samples) const {
    return unit_noise(weighing_noise(residual_products(model, samples, kBlockRows, control_) /
                                     static_cast<double>(samples.rows())));
  }

  // The signed network with these signs after a short polish on `rows`.
  [[nodiscard]] Form with_these_signs(const Vector& signs, const SampleSource& rows) const {
    SignDecision decision;
    decision.signs = signs;
    decision.outcome = SignOutcome::kUnique;
    PolishOptions quick = options_.polish;
    quick.max_iterations = 25;
    quick.damping = 1e-4;
    return polish(with_signs(sign_free_, decision), rows, quick, control_).form;
  }

  // Sign vectors that fit the linear term up to the noise of its entries, about (rows)^(-1/2) each because
  // the outputs' noise is 1.
  [[nodiscard]] SignDecision likely_signs() const {
    const Index k = sign_free_.units(), d = sign_free_.inputs;
    SignOptions options;
    options.tolerance = 1e-3;
    options.most_rivals = kMostRivals;
    double largest = 0;
    for (Index j = 0; j < k; ++j)
      largest = std::max(largest, sign_free_.C.row(j).norm() * sign_free_.V[0].row(j).head(d).norm());
    const double entries = static_cast<double>(d * sign_free_.C.cols());
    SignOptions noisy = options;
    noisy.dependent = std::min(
        0.3, 3 * std::sqrt(entries / static_cast<double>(subset_->rows())) / std::max(largest, kTiny));
    noisy.most_free = 12;
    noisy.rival_mismatch = kRivalDeviations * noisy.dependent;
    SignDecision decision = decide_signs(sign_free_, noisy);
    if (std::isfinite(decision.mismatch)) {
      // What the best vector misses by is a measurement of that noise: decide again with it.
      noisy.dependent = std::min(0.3, std::max(noisy.dependent, 5 * decision.mismatch));
      noisy.rival_mismatch = kRivalDeviations * noisy.dependent;
      decision = decide_signs(sign_free_, noisy);
    }
    return std::isfinite(decision.mismatch) ? decision : decide_signs(sign_free_, options);
  }

  // Signs with noise: candidates from the linear term, decided by the sum of squares of the signed fit. Here
  // the outputs of subset_, samples_ and sign_free_ are mixed: their noise has variance 1.
  void decide_noisy_signs() {
    // What a model leaves beyond the sign-free fit: chi-squared with m d degrees of freedom for the right
    // signs, since the linear term is what they do without.
    const double open = sum_of_squares(sign_free_, *subset_, control_);
    const double variance = std::max(open / freedom(*subset_, sign_free_), kTiny);
    const auto excess = [&](const Form& model) {
      return (sum_of_squares(model, *subset_, control_) - open) / variance;
    };
    fit_.signs = likely_signs();
    SignDecision& decision = fit_.signs;
    if (decision.signs.size() == 0 || !std::isfinite(decision.mismatch)) {
      decision.outcome =
          SignOutcome::kUndecided;  // no units, or too many to enumerate: the linear term stays
      return;
    }
    const double md = static_cast<double>(sign_free_.inputs * sign_free_.C.cols());
    // Rounding errors are not quite noise: there only a residual of twice the size counts.
    const double entries = static_cast<double>(subset_->rows() * subset_->outputs());
    const bool rounding =
        options_.rounding && search_mse_ <= std::max(rounding_level(*subset_), options_.rounding->computed);
    const double slack = rounding ? entries : 0;
    const double allowed = chi_squared_limit(md, kSignFalseAlarm, 1) + slack;
    const double rejected = chi_squared_limit(md, kRivalFalseAlarm, 1) + slack;
    const double spread = 4 * std::sqrt(2 * md);  // of the difference of two that are both right
    Form best = with_these_signs(decision.signs, *subset_);
    double best_excess = excess(best);
    turn_units(excess, allowed, decision.signs, best, best_excess);
    for (const Vector& rival : decision.rivals) {
      if (best_excess <= allowed || control_.out_of_time()) break;
      const Form model = with_these_signs(rival, *subset_);
      const double value = excess(model);
      if (value >= best_excess) continue;
      best = model;
      best_excess = value;
      decision.signs = rival;
    }
    if (!(best_excess <= allowed)) {
      decision.outcome = SignOutcome::kUndecided;
      return;
    }
    best_signed_ = best;
    decision.outcome = SignOutcome::kUnique;
    const double plain = best_excess + kDecisiveEvidence + slack;
    std::vector<Vector> rivals = decision.rivals;
    rivals.push_back(weakest_turned(decision.signs));
    for (const Vector& rival : rivals) {
      if (rival == decision.signs ||
          !may_be_right(rival, decision.signs, excess, std::clamp(rejected, plain, plain + spread)))
        continue;
      decision.outcome = SignOutcome::kAmbiguous;
      break;
    }
  }

  // Greedy turns while they help: the weakest units are the ones the linear system gets wrong.
  template <class Excess>
  void turn_units(const Excess& excess, double allowed, Vector& signs, Form& best,
                  double& best_excess) const {
    for (int round = 0; round < kMostTurnRounds && best_excess > allowed; ++round) {
      bool turned = false;
      for (Index j = 0; j < signs.size() && !control_.out_of_time(); ++j) {
        Vector other = signs;
        other(j) *= -1;
        const Form model = with_these_signs(other, *subset_);
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

  [[nodiscard]] Vector weakest_turned(Vector signs) const {
    Index weakest = 0;
    sign_free_.C.topRows(signs.size()).rowwise().norm().minCoeff(&weakest);
    signs(weakest) *= -1;
    return signs;
  }

  // May these signs be the right ones beside the chosen ones? Not where they leave `rejected` more than the
  // sign-free fit: on the subset, and where it cannot tell, on all rows.
  template <class Excess>
  [[nodiscard]] bool may_be_right(const Vector& signs, const Vector& chosen, const Excess& excess,
                                  double rejected) const {
    const Form rival = with_these_signs(signs, *subset_);
    if (has_signs(rival, chosen) || !(excess(rival) < rejected)) return false;
    if (subset_->rows() == samples_->rows()) return true;
    PolishOptions quick = options_.polish;
    quick.max_iterations = 6;
    quick.damping = 1e-6;
    const Polished open = polish(sign_free_, *samples_, quick, control_);
    const Polished theirs = polish(rival, *samples_, quick, control_);
    const double left = sum_of_squares(open.form, *samples_, control_);
    const double variance = std::max(left / freedom(*samples_, open.form), kTiny);
    return !has_signs(theirs.form, chosen) &&
           (sum_of_squares(theirs.form, *samples_, control_) - left) / variance < rejected;
  }

  // Whether the units of a signed model have these signs, each beside its own unit of the sign-free fit or
  // beside the one that it is most nearly parallel to: a polish may turn a unit back, or let units change
  // places, and then is no rival.
  [[nodiscard]] bool has_signs(const Form& model, const Vector& signs) const {
    const Index k = model.units();
    const Matrix cosines =
        model.V[0].rowwise().normalized() * sign_free_.V[0].rowwise().normalized().transpose();
    if (cosines.diagonal().cwiseProduct(signs).minCoeff() > 0) return true;
    std::vector<bool> taken(static_cast<std::size_t>(k), false);
    for (Index j = 0; j < k; ++j) {
      Index nearest = 0;
      cosines.row(j).cwiseAbs().maxCoeff(&nearest);
      if (taken[static_cast<std::size_t>(nearest)] || signs(nearest) * cosines(j, nearest) <= 0) return false;
      taken[static_cast<std::size_t>(nearest)] = true;
    }
    return true;
  }

  void noisy_finish() {
    const SamplePtr given = samples_, some = subset_;
    mix_outputs(mixing_of(sign_free_, *subset_));
    decide_noisy_signs();
    Form start =
        fit_.signs.outcome == SignOutcome::kUndecided ? with_signs(sign_free_, fit_.signs) : best_signed_;
    start.C = start.C * mixing_.back.transpose();
    samples_ = given;
    subset_ = some;
    control_.report("finish", 0);
    const double products = static_cast<double>(samples_->rows()) * static_cast<double>(start.V[0].size());
    if (fit_.outcome == SearchOutcome::kStuck && (control_.out_of_time() || products > kMostWhenStuck)) {
      fit_.model = std::move(start);
      take_measure(residual_products(fit_.model, *subset_, kBlockRows, control_), subset_->rows());
      return;
    }
    // Weights from the residuals of this fit, then the efficient fit on all rows; again where a mixture of
    // outputs turns out to have much less noise than it was weighted with, which then says more.
    const double rows = static_cast<double>(samples_->rows());
    const auto left_by_fit = [&] { return residual_products(fit_.model, *samples_, kBlockRows, control_); };
    fit_.model = std::move(start);
    Matrix left = left_by_fit();
    for (int round = 0; round < kMostWeightings; ++round) {
      const Matrix assumed = weighing_noise(left / rows);
      weighted_polish(unit_noise(assumed));
      left = left_by_fit();
      const Matrix Q = unit_noise(assumed).Q;
      const Eigen::SelfAdjointEigenSolver<Matrix> ratio(
          Matrix(Q * weighing_noise(left / rows) * Q.transpose()), Eigen::EigenvaluesOnly);
      if (ratio.eigenvalues().minCoeff() > kSameNoise || control_.out_of_time()) break;
    }
    fit_.out_of_time = fit_.out_of_time || control_.out_of_time();
    take_measure(left, samples_->rows());
  }

  // Sets the errors of the fit; `products` are the sums of products of its residuals over so many rows.
  void take_measure(const Matrix& products, Index rows) {
    const Left measured = measure(fit_.model, products, rows);
    fit_.relative_mse = measured.relative_mse;
    fit_.noise_covariance = measured.noise_covariance;
    fit_.rows_per_unknown = measured.rows_per_unknown;
    fit_.descent.push_back({true, fit_.relative_mse});
  }

  // The noise that outputs are weighed by: at least kReproduced, because outputs without any noise would
  // outweigh the others by more digits than a double has.
  [[nodiscard]] static Matrix weighing_noise(Matrix covariance) {
    covariance.diagonal().array() += kReproduced;
    return covariance;
  }

  // The efficient fit on all rows where the outputs' noise has been made independent by `mixing`.
  void weighted_polish(const OutputMixing& mixing) {
    PolishOptions finish = options_.polish;
    finish.damping = 1e-6;
    finish.max_iterations = 12;
    finish.least_progress = 1e-9;
    finish.patience = 1;
    finish.block_rows = kBlockRows;
    fit_.model.C = fit_.model.C * mixing.Q.transpose();
    fit_.model = polish(fit_.model, *mixed_outputs(samples_, mixing), finish, control_).form;
    fit_.model.C = fit_.model.C * mixing.back.transpose();
  }

  // From here on outputs are seen through `mixing`: rows, subset and the sign-free model, polished again.
  void mix_outputs(const OutputMixing& mixing) {
    mixing_ = mixing;
    samples_ = mixed_outputs(samples_, mixing);
    subset_ = load(*mixed_outputs(subset_, mixing));
    sign_free_.C = sign_free_.C * mixing.Q.transpose();
    if (samples_->outputs() == 1) return;  // one output is only scaled: its best fit stays the same
    PolishOptions quick = options_.polish;
    quick.max_iterations = 25;
    quick.damping = 1e-6;
    sign_free_ = polish(sign_free_, *subset_, quick, control_).form;
  }

  SamplePtr samples_;
  const FitOptions& options_;
  const Control& control_;
  SamplePtr subset_;
  Form sign_free_, best_signed_;
  double search_mse_ = 1;  // relative, of sign_free_ on the subset before its outputs were mixed
  OutputMixing mixing_;    // how the outputs of sign_free_ and best_signed_ are mixed
  Fit fit_;
};

}  // namespace

double RoundingNoise::level(double entries) const {
  constexpr double kDeviations = 8;
  return mean_square * (1 + kDeviations * deviation / std::sqrt(std::max(entries, 1.0)));
}

Index free_parameters(Index inputs, Index hidden, Index outputs) {
  return hidden * (inputs + outputs) + outputs;
}

Fit fit_units(const Matrix& V, const SamplePtr& standard, const FitOptions& options, const Control& control) {
  const SingleThreadedBlas single;
  return Fitter(standard, options, control).run(V);
}

}  // namespace exhume
