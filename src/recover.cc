#include "exhume/recover.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "exhume/base/blas.h"
#include "exhume/certify/certify.h"
#include "exhume/base/error.h"
#include "exhume/fit/fit.h"
#include "exhume/certify/inspect.h"
#include "exhume/moments/moments.h"
#include "exhume/routes/depth2.h"
#include "exhume/routes/depth2_jennrich.h"
#include "exhume/routes/symmetric.h"
#include "exhume/fit/standard_errors.h"
#include "exhume/moments/standardise.h"
#include "exhume/certify/symmetry_test.h"

namespace exhume {
namespace {

// Standardised samples of up to this many numbers (32 MB) are kept in memory instead of made anew every pass.
constexpr Index kKeptNumbers = 4'000'000;
// Share of the budget for finding a network; the rest is for judging it.
constexpr double kSearchShare = 0.88;
// Rows from which identifiability is estimated, at least; activity from four times as many.
constexpr Index kCurvatureRows = 1024;
// Smallest singular value, in units of the outputs' spread, below which all rows are asked.
constexpr double kDoubtful = 1e-2;

double seconds_since(Control::Clock::time_point start) {
  return std::chrono::duration<double>(Control::Clock::now() - start).count();
}

// Hold out one row in this many: 250 rows or a fiftieth, whichever is more, but never above a tenth.
Index held_out_period(Index rows) {
  return std::clamp<Index>(rows / std::max<Index>(250, rows / 50), 10, 50);
}

void check_sizes(const SampleSource& samples, const RecoverOptions& options) {
  const Index n = samples.rows(), d = samples.inputs(), m = samples.outputs();
  if (n == 0 || d == 0 || m == 0) {
    throw DataError(fmt::format(
        "the samples are empty ({} rows, {} inputs, {} outputs); give at least one of each", n, d, m));
  }
  const Index k = options.hidden.value_or(1);
  // The sign-free fit also has the linear term; a tenth of the rows is held out.
  const Index unknowns = k * (d + m) + m * (d + 1);
  const auto needed =
      static_cast<Index>(std::ceil(1.2 * static_cast<double>(unknowns) / static_cast<double>(m) / 0.9));
  if (n < std::max<Index>(needed, 20)) {
    throw DataError(
        fmt::format("{} rows are too few: {} hidden unit{} with {} inputs and {} outputs have {} unknowns; "
                    "give at least {} rows{}",
                    n, k, k == 1 ? "" : "s", d, m, unknowns, std::max<Index>(needed, 20),
                    options.hidden ? " or ask for fewer units" : ""));
  }
}

Network errors_in_order(const Network& errors, const Network& from, const Network& to) {
  // `to` is canonical(from): find every unit's place by its row.
  Network out = errors;
  std::vector<bool> used(static_cast<size_t>(from.hidden()), false);
  for (Index i = 0; i < to.hidden(); ++i) {
    Index best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (Index j = 0; j < from.hidden(); ++j) {
      if (used[static_cast<size_t>(j)]) continue;
      const double distance = (from.W.row(j).normalized() - to.W.row(i)).squaredNorm() +
                              std::pow(from.b(j) / from.W.row(j).norm() - to.b(i), 2);
      if (distance < least) {
        least = distance;
        best = j;
      }
    }
    used[static_cast<size_t>(best)] = true;
    out.W.row(i) = errors.W.row(best);
    out.b(i) = errors.b(best);
    out.A.col(i) = errors.A.col(best);
  }
  return out;
}

class Recovery {
 public:
  Recovery(const SamplePtr& samples, const RecoverOptions& options, const Control& control)
      : options_(options),
        control_(control.within(kSearchShare * options.budget_seconds)),
        begin_(Control::Clock::now()) {
    check_sizes(*samples, options);
    data_ = inspect(*samples);
    const SamplePtr rows = data_.repeated_rows ? distinct_rows(samples, control_) : samples;
    if (rows != samples) check_sizes(*rows, options);
    split_ = split(rows, held_out_period(rows->rows()), options.seed);
    result_.rows = samples->rows();
    result_.held_out_period = held_out_period(rows->rows());
    result_.samples = rows->rows();
    result_.held_out = split_.held_out->rows();
    result_.seed = options.seed;
  }

  RecoverResult run() {
    moments_ = second_moments(*split_.training, control_);
    coordinates_ = standardise(moments_);
    standard_ = affine(split_.training, coordinates_.map);
    if (standard_->rows() * (standard_->inputs() + standard_->outputs()) <= kKeptNumbers)
      standard_ = load(*standard_);
    stamp("reading");
    const std::vector<Road> plan = roads();
    for (size_t i = 0; i < plan.size(); ++i) {
      // Roads that start from moments get half of the time that is left; the last one all of it.
      const bool last = i + 1 == plan.size();
      const Control limited = last ? control_ : control_.within(control_.seconds_left() / 2);
      if (attempt(plan[i], limited)) break;
      // A road that did not apply left nothing behind: go on until there is something to judge.
      if (control_.out_of_time() && !result_.route.empty()) break;
    }
    judge();
    return std::move(result_);
  }

 private:
  enum class Start { kOrder2, kStacked, kJennrich, kSymmetric, kNone };
  struct Road {
    std::string route;
    Start start;
    int restarts;  // from random units, where the start leads nowhere
  };

  void stamp(const std::string& stage) {
    const double now = seconds_since(begin_);
    result_.timings.push_back({stage, now - last_});
    last_ = now;
  }

  // What to try, in order of promise and cost.
  [[nodiscard]] std::vector<Road> roads() const {
    const Index m = standard_->outputs();
    std::vector<Road> plan;
    if (options_.route == "depth2-jennrich") return {{"depth2-jennrich", Start::kJennrich, 0}};
    const bool many_outputs = m >= 4 && (!options_.hidden || *options_.hidden <= m);
    const bool any = options_.route == "auto";
    if (any || options_.route == "depth2") {
      if (many_outputs) plan.push_back({"depth2", Start::kOrder2, 0});
    }
    if (options_.route == "symmetric" || (any && many_outputs))
      plan.push_back({"symmetric", Start::kSymmetric, 0});
    if (any || options_.route == "depth2") plan.push_back({"depth2", Start::kStacked, 0});
    if (options_.route != "depth2") plan.push_back({"any_inputs", Start::kNone, 40});
    return plan;
  }

  Matrix rough_units(const Road& road, const Control& control) {
    if (road.start == Start::kNone) return Matrix(0, standard_->inputs() + 1);
    if (road.start == Start::kSymmetric) return symmetric_units(control);
    if (road.start == Start::kJennrich) {
      Matrix V = jennrich_start(standard_, options_.hidden, options_.seed, control);
      stamp("Hermite tensors");
      return V;
    }
    Depth2Options depth2;
    depth2.hidden = options_.hidden;
    depth2.seed = options_.seed;
    SpectralStart found = road.start == Start::kOrder2 ? order2_start(standard_, depth2, control)
                                                       : stacked_start(standard_, depth2, control);
    result_.singular_values = found.singular_values;
    result_.noise_floor = found.noise_floor;
    result_.gap_units = found.above_noise;
    stamp(road.start == Start::kOrder2 ? "moments of order 2" : "moments of orders 2 to 4");
    return std::move(found.V);
  }

  // Units of the pure-neuron detector, or none where the inputs are not symmetric or it does not apply;
  // `said_` says why.
  Matrix symmetric_units(const Control& control) {
    const SymmetryTest test = test_symmetry(*split_.training, options_.seed, control);
    result_.assumptions.push_back(
        {"inputs symmetric about zero", test.statistic, test.threshold, test.holds()});
    said_ = test.words();
    if (!test.holds()) return Matrix(0, standard_->inputs() + 1);
    SymmetricOptions options;
    options.hidden = options_.hidden;
    options.leak = options_.leak;
    options.seed = options_.seed;
    const SymmetricNetwork found = symmetric_network(split_.training, options, control);
    SpectralStart start = symmetric_start(found, coordinates_);
    result_.singular_values = start.singular_values;
    result_.noise_floor = start.noise_floor;
    result_.gap_units = start.above_noise;
    said_ = found.outcome == DetectorOutcome::kFound ? found.diagnosis.words() : to_string(found.outcome);
    stamp("pure-neuron detector");
    return std::move(start.V);
  }

  // One road to its end. True if nothing better can be expected.
  bool attempt(const Road& road, const Control& control) {
    FitOptions options;
    options.hidden = options_.hidden;
    options.seed = options_.seed;
    options.most_restarts = road.restarts;
    options.thorough_pruning = data_.discrete;
    options.noise_is_final = !only_exact_will_do_;
    said_.clear();
    const Matrix V = rough_units(road, control);
    if (road.start == Start::kSymmetric && V.rows() == 0) {
      // Nothing to go on: nothing may be found, let alone certified, in the name of this road.
      result_.tried.push_back({road.route, said_});
      return false;
    }
    Fit fit = fit_units(V, standard_, options, control);
    stamp("fit");
    result_.tried.push_back({road.route, outcome_words(fit) + (said_.empty() ? "" : "; " + said_)});
    const bool exact = fit.outcome == SearchOutcome::kExact;
    const ResidualLook look = exact ? ResidualLook() : look_at_residual(fit.model, standard_, control);
    const bool noise = fit.outcome == SearchOutcome::kNoise && looks_like_noise(look);
    only_exact_will_do_ = !noise;
    if (result_.route.empty() || exact || noise ||
        (fit_.outcome != SearchOutcome::kNoise && fit.relative_mse < fit_.relative_mse)) {
      fit_ = std::move(fit);
      look_ = look;
      result_.route = road.route;
    }
    return exact || noise;
  }

  static std::string outcome_words(const Fit& fit) {
    switch (fit.outcome) {
      case SearchOutcome::kExact:
        return fmt::format("exact with {} units", fit.model.units());
      case SearchOutcome::kNoise:
        return fmt::format("{} units leave {:.2g} of the variance, without structure", fit.model.units(),
                           fit.relative_mse);
      case SearchOutcome::kStuck:
        break;
    }
    return fmt::format("{} units leave {:.2g} of the variance, with structure left", fit.model.units(),
                       fit.relative_mse);
  }

  void judge() {
    const Network user = coordinates_.to_user(to_network(fit_.model));
    result_.network = canonical(user);
    result_.signs_identifiable = fit_.signs.outcome == SignOutcome::kUnique;
    result_.training_relative_mse = fit_.relative_mse;
    HeldOutCheck check = check_held_out(result_.network, *split_.held_out, moments_.mean_y());
    result_.heldout_relative_mse = check.relative_mse;
    check.noise = fit_.noise_variance.cwiseQuotient(coordinates_.map.D.cwiseAbs2());
    const bool exact = fit_.outcome == SearchOutcome::kExact;
    estimate_errors(user, exact);
    result_.heldout_mean_square = check.mean_square;
    bound_function_error(check);
    determine(result_.functional_error_bound);
    measure_activity();
    Verdict verdict =
        certify(fit_, look_, check, result_.held_out, data_, *standard_, result_.identifiability);
    if (exact && options_.hidden && verdict.status == Status::kUncertified) look_for_fewer(verdict);
    result_.status = verdict.status;
    result_.reason = std::move(verdict.reason);
    if (result_.status == Status::kUncertified && result_.samples < result_.rows) {
      result_.reason += fmt::format("; {} of the {} rows repeat others and were left out",
                                    result_.rows - result_.samples, result_.rows);
    }
    result_.assumptions.insert(result_.assumptions.end(), verdict.checks.begin(), verdict.checks.end());
    if (result_.status == Status::kCertified) conclude(result_);
    result_.predicted = std::move(check.predicted);
    result_.observed = std::move(check.observed);
    for (size_t i = 0; i < fit_.descent.size(); ++i) {
      result_.descent.push_back({fit_.descent[i].signed_form ? "signed" : "sign-free", static_cast<int>(i),
                                 fit_.descent[i].relative_mse});
    }
    stamp("check");
  }

  // Several networks of the number of units asked for reproduce the samples: because fewer units do?
  void look_for_fewer(Verdict& verdict) {
    FitOptions options;
    options.seed = options_.seed;
    const Fit fewer = fit_units(Matrix(0, standard_->inputs() + 1), standard_, options, control_);
    const Index needed = fewer.model.units();
    if (fewer.outcome != SearchOutcome::kExact || needed >= *options_.hidden) return;
    Assumption all_needed;
    all_needed.name = "every unit needed";
    all_needed.value = static_cast<double>(needed);
    all_needed.threshold = static_cast<double>(*options_.hidden);
    all_needed.required = true;
    verdict.checks.push_back(std::move(all_needed));
    verdict.reason = fmt::format(
        "{} of the {} units asked for reproduce all samples to rounding: the others never fire within the "
        "samples, or equal another unit; leave the number of units to be found",
        needed, *options_.hidden);
  }

  // Curvature at the fit with outputs weighted by 1 / spread; `rows` of the training rows at most.
  [[nodiscard]] ErrorEstimate curvature(const Vector& spread, const SamplePtr& rows) const {
    Standardisation weighted = coordinates_;
    weighted.map.D = coordinates_.map.D.cwiseQuotient(spread);
    SeparableModel model = fit_.model;
    model.C = model.C * spread.cwiseInverse().asDiagonal();
    return standard_errors(model, *affine(rows, weighted.map), 1.0, weighted, control_);
  }

  void estimate_errors(const Network& user, bool exact) {
    if (fit_.model.linear_term || fit_.model.V.size() > PolishOptions().dense_limit ||
        fit_.model.units() == 0)
      return;
    if (!exact) {
      const Vector spread = fit_.noise_variance.cwiseMax(1e-300).cwiseSqrt();
      const ErrorEstimate estimate = curvature(spread, split_.training);
      if (result_.network.hidden() == user.hidden()) {
        result_.standard_errors = errors_in_order(estimate.errors, user, result_.network);
        result_.max_standard_error = estimate.largest;
      }
      result_.noise_sd = std::sqrt(spread.cwiseQuotient(coordinates_.map.D).cwiseAbs2().mean());
    }
  }

  // How far the function determines the weights, from some rows: in the outputs' own units.
  void determine(double bound) {
    if (fit_.model.linear_term || fit_.model.V.size() > PolishOptions().dense_limit ||
        fit_.model.units() == 0)
      return;
    const Index unknowns = fit_.model.V.size() + fit_.model.C.size();
    const Index enough = std::max<Index>(kCurvatureRows, 4 * unknowns / standard_->outputs());
    SamplePtr rows =
        split_.training->rows() > enough ? spread_subset(*split_.training, enough) : split_.training;
    const double spread = std::sqrt(coordinates_.map.D.cwiseInverse().cwiseAbs2().mean());
    ErrorEstimate estimate = curvature(coordinates_.map.D, rows);
    // A unit that is seldom active may be on too few of these rows: ask all of them.
    if (estimate.smallest_singular < kDoubtful * spread && rows != split_.training) {
      rows = split_.training;
      estimate = curvature(coordinates_.map.D, rows);
    }
    Identifiability found;
    found.smallest_singular = estimate.smallest_singular / spread;
    found.epsilon = std::sqrt(bound);
    found.delta = found.epsilon * std::sqrt(static_cast<double>(rows->rows())) * estimate.largest;
    result_.identifiability = found;
  }

  void bound_function_error(const HeldOutCheck& check) {
    result_.confidence = 0.999;
    if (fit_.outcome == SearchOutcome::kNoise && looks_like_noise(look_)) {
      const auto p = static_cast<double>(
          free_parameters(result_.network.inputs(), result_.network.hidden(), result_.network.outputs()));
      result_.functional_error_bound =
          bound_fitted_noise(p, result_.noise_sd * result_.noise_sd, split_.training->rows());
      result_.bound_from = "the noise and the number of parameters, held-out residuals being noise";
    } else {
      result_.functional_error_bound = bound_mean_square(check, result_.held_out);
      result_.bound_from = "held-out residuals, whatever they are made of";
    }
  }

  void measure_activity() {
    if (result_.network.hidden() == 0) return;
    const SamplePtr rows = spread_subset(*split_.training, 4 * kCurvatureRows);
    SampleBlock block;
    rows->read(0, rows->rows(), block);
    const RowMatrix z = (block.x() * result_.network.W.transpose()).rowwise() + result_.network.b.transpose();
    result_.activity = (z.array() > 0).cast<double>().colwise().mean().transpose();
  }

  RecoverOptions options_;
  Control control_;
  Control::Clock::time_point begin_;
  double last_ = 0;
  Split split_;
  SecondMoments moments_;
  Standardisation coordinates_;
  SamplePtr standard_;
  Inspection data_;
  bool only_exact_will_do_ =
      false;  // a road found what its test calls noise, but the residual says otherwise
  Fit fit_;
  ResidualLook look_;
  RecoverResult result_;
  std::string said_;  // what the road under way has to say for itself
};

}  // namespace

void conclude(RecoverResult& result) {
  const Index k = result.network.hidden();
  std::string weights = "these weights";
  if (result.identifiability) {
    weights = fmt::format("these weights to within {:.2g}", result.identifiability->delta);
  }
  if (result.noise_sd > 0) {
    result.conclusion = fmt::format(
        "The samples are those of this network plus noise of standard deviation {:.3g}; every weight lies "
        "within two of its standard errors ({:.2g} at most) of the stated one with confidence 0.95",
        result.noise_sd, result.max_standard_error);
    result.assumed = {
        "the noise is independent of the inputs and from row to row, with one variance an output"};
  } else {
    result.conclusion = fmt::format(
        "The samples are those of this network; any network of at most {} units that agrees with it on the "
        "input distribution to within {:.2g} (root mean square) has {}, up to the order and the scale of its "
        "units",
        k, std::sqrt(result.functional_error_bound), weights);
  }
  result.assumed.insert(result.assumed.end(),
                        {fmt::format("the network behind the samples has at most {} units, in one layer", k),
                         "rows are independent draws of the input distribution that the conclusion is about",
                         "units that bend nowhere among the samples, if any, are not part of the question"});
}

void RecoverOptions::validate() const {
  if (hidden && *hidden < 1) {
    throw std::invalid_argument(fmt::format("hidden is {}, expected at least 1, or auto", *hidden));
  }
  if (!(budget_seconds > 0))
    throw std::invalid_argument(fmt::format("budget is {} s, expected above 0", budget_seconds));
  const std::vector<std::string> known = {"auto", "depth2", "depth2-jennrich", "symmetric", "any_inputs"};
  if (std::find(known.begin(), known.end(), route) == known.end()) {
    throw std::invalid_argument(fmt::format("route is '{}', expected {}", route, fmt::join(known, ", ")));
  }
  if (!(leak >= 0 && leak < 1))
    throw std::invalid_argument(fmt::format("leak is {}, expected in [0, 1)", leak));
}

RecoverResult recover(const SamplePtr& samples, const RecoverOptions& options, const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  return Recovery(samples, options, control).run();
}

}  // namespace exhume
