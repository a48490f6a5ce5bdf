#include "routes/residual_rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/blas.h"
#include "base/in_time.h"
#include "data/resident.h"
#include "fit/residuals.h"
#include "fit/unit_search.h"

namespace exhume {
namespace {

constexpr Index kLeastPolishRows = 600;  // of the polish
// Steps of one polish, and the share of the residual below which a step is not worth its time: the next round
// brings more.
constexpr int kPolishSteps = 30;
constexpr double kPolishProgress = 0.03;
constexpr int kPolishPatience = 2;
// On a device and with many inputs: equations per unknown in a second polish on more rows, before moments are
// taken of the residual (weights that were fitted to few rows leave their errors in all others, along
// directions that no unit has); and flops that the moments of order 4 of a round may take, the strongest
// directions first.
constexpr double kManyEquations = 40, kRoundFlops = 6e14;
constexpr int kManySteps = 8;
// A round that leaves more than this share of what it found made no progress.
constexpr double kProgress = 0.9;
// A unit worth less than this share of the residual is dropped: if it is real, a later round finds it again
// in a smaller residual.
constexpr double kWorthless = 0.01;
// A unit worth no more than this share of the variance does nothing in an exact fit.
constexpr double kIdle = 1e-18;
// Units that a round may add: kMostNewShare of those there are, and kMostNew.
constexpr double kMostNewShare = 0.5;
constexpr Index kMostNew = 8;
// Few units are missing where less than kFewMissing of the variance is left, and no more than kFewUnits units
// as weak as the weakest found would explain; or kMostNew units where there are so many inputs that moments
// are expensive, because in a trained network half of the units may explain a hundredth of the variance
// together.
constexpr double kFewMissing = 1.0 / 32;
constexpr Index kFewUnits = 4;
// Then units are tried instead of moments: at most kMostTried are looked at, and those added whose score is
// at least kBesideBest of the best one's. Where that leaves more than kWorthTrying of the residual, the next
// round takes moments.
constexpr Index kMostTried = 64;
constexpr double kBesideBest = 0.25, kWorthTrying = 0.5;
// |cosine| above which two new directions are the same; of those that were tried, which every output shows in
// its own noise, a smaller one.
constexpr double kSame = 0.95, kSameTried = 0.7;
constexpr double kSameUnit = 2;  // of a student, which was asked for a few units beside each other: none
constexpr double kLargestBias = 2.4, kBiasStep = 0.2;

class Rounder {
 public:
  Rounder(const SamplePtr& standard, const RoundsOptions& options, const Control& control)
      : standard_(standard), options_(options), control_(control) {}

  Rounds run(const Matrix& V) {
    model_ = one_layer(V);
    int fruitless = 0;
    bool tried = false;  // whether the last round added units that were tried, not found by moments
    result_.end = RoundsEnd::kStalled;
    for (int round = 0; enough_rows(model_.units()) && model_.units() > 0; ++round) {
      control_.report("rounds", static_cast<double>(round) / options_.most_rounds);
      const double before = result_.relative_mse;
      polish_units();
      if (!over() || too_many()) drop_worthless();
      if (result_.end == RoundsEnd::kExact) drop_idle();
      if (round == 0) first_mse_ = result_.relative_mse;
      if (over() || is_noise(round) || round == options_.most_rounds) break;
      if (round == options_.rounds_before_asking && of_another_kind()) break;
      fruitless = round > 0 && result_.relative_mse > kProgress * before ? fruitless + 1 : 0;
      if (fruitless >= options_.patience) break;
      // Where few units are missing, trying many candidates shows them at less expense than moments; and
      // where moments show none, candidates may, as in the test for noise.
      const bool few = few_missing() && !(tried && result_.relative_mse > kWorthTrying * before);
      tried = few;
      Matrix more = few ? tried_units() : new_units(round);
      if (more.rows() == 0 && !control_.out_of_time()) more = few ? new_units(round) : tried_units();
      if (more.rows() == 0) break;
      Matrix all(model_.V[0].rows() + more.rows(), more.cols());
      all << model_.V[0], more;
      model_.V[0] = std::move(all);
    }
    // Rounds may have ended before the one that asks for the kind of the units.
    if (result_.end == RoundsEnd::kStalled || result_.end == RoundsEnd::kNoise)
      static_cast<void>(of_another_kind());
    result_.V = model_.V[0];
    return result_;
  }

 private:
  // Rows for every unknown of this many units.
  [[nodiscard]] Index rows_for(Index units, double per_unknown) const {
    const Index d = standard_->inputs(), m = standard_->outputs();
    const double unknowns = static_cast<double>(units * (d + m) + m * (d + 1));
    return static_cast<Index>(per_unknown * unknowns / static_cast<double>(m));
  }

  // Whether there are rows enough for moments to show so many units; with fewer the search alone does
  // better.
  [[nodiscard]] bool enough_rows(Index units) const {
    return rows_for(units, kReliable) <= standard_->rows();
  }

  void polish_units() {
    PolishOptions few;
    few.max_iterations = kPolishSteps;
    few.damping = 1e-4;
    few.least_progress = kPolishProgress;
    few.patience = kPolishPatience;
    if (options_.look) few.far = options_.exact;  // students leave either a little or the wrong function
    const Index wanted = std::max(kLeastPolishRows, rows_for(model_.units(), options_.rows_per_unknown));
    if (!rows_ || rows_->rows() < std::min(wanted, standard_->rows()))
      rows_ = spread_subset(*standard_, wanted + wanted / 4);  // a few units more need no new rows
    Polished summary = polish(model_, *rows_, few, control_);
    model_ = std::move(summary.form);
    result_.relative_mse = summary.relative_mse;
    result_.descent.insert(result_.descent.end(), summary.descent.begin(), summary.descent.end());
    control_.best(summary.relative_mse, model_.units());
  }

  // Polishes V on more rows, and solves C again on the rows on which units are tried and weighed.
  void polish_on_many() {
    const Index wanted = std::min(rows_for(model_.units(), kManyEquations), standard_->rows());
    if (wanted < 2 * rows_->rows()) return;
    if (!many_ || many_->rows() < wanted)
      many_ = spread_subset(*standard_, std::min(wanted + wanted / 4, standard_->rows()));
    PolishOptions some;
    some.max_iterations = kManySteps;
    some.damping = 1e-4;
    some.least_progress = kPolishProgress;
    some.patience = kPolishPatience;
    model_ = polish(model_, *many_, some, control_).form;
    result_.relative_mse = fit_linear_part(model_, *rows_, some, control_);
  }

  // Whether the polish just made was the last; says why.
  bool over() {
    result_.end = result_.relative_mse <= options_.exact ? RoundsEnd::kExact
                  : control_.out_of_time()               ? RoundsEnd::kTime
                                                         : RoundsEnd::kStalled;
    return result_.end != RoundsEnd::kStalled;
  }

  // Asked once, and only where rounds were slow.
  bool of_another_kind() {
    if (asked_ || !options_.another_kind || !(result_.relative_mse > options_.slow * first_mse_))
      return false;
    asked_ = true;
    return options_.another_kind();
  }

  [[nodiscard]] bool too_many() const {
    return options_.spectral.hidden && model_.units() > *options_.spectral.hidden;
  }

  // More than the largest active subspace.
  [[nodiscard]] bool many_inputs() const { return standard_->inputs() > options_.spectral.most_active; }

  [[nodiscard]] bool few_missing() const {
    const Index few = many_inputs() ? kMostNew : kFewUnits;
    return result_.relative_mse < std::min(kFewMissing, static_cast<double>(few) * weakest_);
  }

  // Whether the residual has no structure left on these rows, by the test of the search.
  bool is_noise(int round) {
    tried_ = candidate_units(model_, *rows_, kMostTried,
                             options_.spectral.seed + static_cast<std::uint64_t>(round), control_);
    if (tried_.scores.size() > 0 && tried_.scores(0) >= chance_level(standard_->outputs(), tried_.tested))
      return false;
    result_.end = RoundsEnd::kNoise;
    return true;
  }

  void drop_worthless() {
    const Vector worth = unit_worth(model_, *rows_, control_);
    std::vector<Index> order(static_cast<size_t>(worth.size()));
    for (Index i = 0; i < worth.size(); ++i) order[static_cast<size_t>(i)] = i;
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return worth(i) > worth(j); });
    Index keep = (worth.array() > kWorthless * result_.relative_mse).count();
    if (options_.spectral.hidden) keep = std::min(keep, *options_.spectral.hidden);
    weakest_ = keep > 0 ? worth(order[static_cast<size_t>(keep - 1)]) : 0;
    if (keep == model_.units()) return;
    Matrix kept(keep, model_.V[0].cols());
    for (Index i = 0; i < keep; ++i) kept.row(i) = model_.V[0].row(order[static_cast<size_t>(i)]);
    model_.V[0] = std::move(kept);
    polish_units();
  }

  // Units that an exact fit does without, if it stays exact.
  void drop_idle() {
    const Vector worth = unit_worth(model_, *rows_, control_);
    const Index keep = (worth.array() > kIdle).count();
    if (keep == 0 || keep == model_.units()) return;
    const Form all = model_;
    const double left = result_.relative_mse;
    model_.V[0].resize(keep, all.V[0].cols());
    for (Index i = 0, to = 0; i < worth.size(); ++i) {
      if (worth(i) > kIdle) model_.V[0].row(to++) = all.V[0].row(i);
    }
    polish_units();
    if (over() && result_.end == RoundsEnd::kExact) return;
    model_ = all;
    result_.relative_mse = left;
    result_.end = RoundsEnd::kExact;
  }

  // Directions from the moments of the residual, with their best biases: those that the residual asks for.
  Matrix new_units(int round) {
    if (rows_on_device(*standard_) != nullptr && many_inputs()) polish_on_many();
    const SamplePtr residual = less_model(standard_, model_, control_);
    if (options_.look) return asked_for(options_.look(*residual, round));
    Depth2Options spectral = options_.spectral;
    spectral.hidden.reset();
    // Few units take few directions, however many others the residual shows.
    spectral.most_active_there =
        std::min(spectral.most_active_there, few_missing() ? spectral.most_active : most_directions());
    spectral.seed += static_cast<std::uint64_t>(round) * 7919;
    SpectralStart found;
    if (!finished_in_time(
            control_, [&](const Control& strict) { found = stacked_start(residual, spectral, strict); })) {
      result_.end = RoundsEnd::kTime;
      return Matrix(0, standard_->inputs() + 1);
    }
    return best_biased(found.V);
  }

  // Directions whose moments of order 4, n m r^4 / 12 products, are worth a round's time on a device.
  [[nodiscard]] Index most_directions() const {
    const double rows = static_cast<double>(standard_->rows() * standard_->outputs());
    const auto most = static_cast<Index>(std::pow(6 * kRoundFlops / rows, 0.25));
    return std::max(options_.spectral.most_active, most);
  }

  // The best of those that the test for noise tried.
  [[nodiscard]] Matrix tried_units() const {
    return strongest(
        tried_.V, tried_.scores,
        std::max(chance_level(standard_->outputs(), tried_.tested), kBesideBest * tried_.scores.maxCoeff()),
        kMostNew, kSameTried);
  }

  // Of these units those that the residual asks for.
  [[nodiscard]] Matrix asked_for(const Matrix& V) const {
    if (V.rows() == 0) return V;
    return strongest(V, unit_scores(model_, *rows_, V, control_),
                     chance_level(standard_->outputs(), V.rows()), V.rows(), kSameUnit);
  }

  [[nodiscard]] Matrix best_biased(const Matrix& directions) const {
    const Index d = standard_->inputs(), count = directions.rows();
    const auto half = static_cast<Index>(std::lround(kLargestBias / kBiasStep)), per = 2 * half + 1;
    Matrix grid(count * per, d + 1);
    for (Index i = 0; i < count; ++i) {
      for (Index b = 0; b < per; ++b) {
        grid.row(i * per + b).head(d) = directions.row(i).head(d);
        grid(i * per + b, d) = kBiasStep * static_cast<double>(b - half);
      }
    }
    return strongest(
        grid, unit_scores(model_, *rows_, grid, control_), chance_level(standard_->outputs(), grid.rows()),
        kMostNew + static_cast<Index>(kMostNewShare * static_cast<double>(model_.units())), kSame);
  }

  // At most so many of the units V whose scores exceed `least`, the best first, one of each direction.
  static Matrix strongest(const Matrix& V, const Vector& scores, double least, Index most, double same) {
    const Index d = V.cols() - 1;
    std::vector<Index> order;
    for (Index i = 0; i < V.rows(); ++i) {
      if (scores(i) > least) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return scores(i) > scores(j); });
    Matrix out(0, d + 1);
    for (const Index i : order) {
      if (out.rows() == most) break;
      if (out.rows() > 0 && (out.leftCols(d) * V.row(i).head(d).transpose()).cwiseAbs().maxCoeff() > same)
        continue;
      out.conservativeResize(out.rows() + 1, Eigen::NoChange);
      out.bottomRows(1) = V.row(i);
    }
    return out;
  }

  SamplePtr standard_, rows_, many_;
  const RoundsOptions& options_;
  const Control& control_;
  Form model_;
  double weakest_ = 0;                                          // worth of the weakest unit that was kept
  double first_mse_ = std::numeric_limits<double>::infinity();  // what the first polish left
  bool asked_ = false;
  Candidates tried_;  // by the last test for noise, for model_
  Rounds result_;
};

}  // namespace

Rounds residual_rounds(const Matrix& V, const SamplePtr& standard, const RoundsOptions& options,
                       const Control& control) {
  const SingleThreadedBlas single;
  return Rounder(standard, options, control).run(V);
}

}  // namespace exhume
