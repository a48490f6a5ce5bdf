#include "exhume/recover.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "exhume/base/blas.h"
#include "exhume/base/error.h"
#include "exhume/base/limits.h"
#include "exhume/fit/standard_errors.h"
#include "exhume/model/rectified_network.h"
#include "exhume/routes/table.h"
#include "routes/engine.h"

namespace exhume {
namespace {

// Rows from which identifiability is estimated, at least; activity from four times as many.
constexpr Index kCurvatureRows = 1024;
// Smallest singular value, in units of the outputs' spread, below which all rows are asked.
constexpr double kDoubtful = 1e-2;

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

// The residual of a fit that a search calls noise, looked at once more.
bool is_noise(Found& found, Prepared& data, const Control& control) {
  if (found.exact_only) return true;
  if (!found.fit.model.V.size()) return found.outcome == SearchOutcome::kNoise;
  found.look = look_at_residual(found.fit.model, data.standard(), control);
  return found.outcome == SearchOutcome::kNoise && looks_like_noise(*found.look);
}

// The verdict on what a route found.
class Judge {
 public:
  Judge(RecoverResult& result, Journey& journey, const RecoverOptions& options)
      : result_(result),
        data_(*journey.data),
        found_(journey.found),
        fit_(journey.found.fit),
        options_(options),
        control_(journey.control),
        relu_(options.rectifier.name == "relu") {}

  void run(const SampleSource& given, const Route& route) {
    const bool exact = found_.outcome == SearchOutcome::kExact;
    complete_fit();
    const Network user =
        found_.network ? *found_.network : data_.coordinates().to_user(to_network(fit_.model));
    result_.network = options_.rectifier.multiplicative() ? canonical(user) : user;
    result_.signs_identifiable = fit_.signs.outcome == SignOutcome::kUnique;
    result_.training_relative_mse = fit_.relative_mse;
    HeldOutCheck held_out = check_held_out(
        [&](const Eigen::Ref<const RowMatrix>& x) {
          return relu_ ? evaluate(result_.network, x) : evaluate(result_.network, options_.rectifier, x);
        },
        *data_.held_out(), data_.moments().mean_y());
    result_.heldout_relative_mse = held_out.relative_mse;
    result_.heldout_mean_square = held_out.mean_square;
    if (fit_.noise_variance.size() > 0)
      held_out.noise = fit_.noise_variance.cwiseQuotient(data_.coordinates().map.D.cwiseAbs2());
    if (!exact) estimate_errors(user);
    determine(bound_function_error(held_out));
    measure_activity();
    conclude(exact || found_.exact_only, held_out, given, route);
    result_.predicted = std::move(held_out.predicted);
    result_.observed = std::move(held_out.observed);
    for (std::size_t i = 0; i < fit_.descent.size(); ++i) {
      result_.descent.push_back({fit_.descent[i].signed_form ? "signed" : "sign-free", static_cast<int>(i),
                                 fit_.descent[i].relative_mse});
    }
  }

 private:
  // A network that was found in the user's coordinates, as a fit in standardised ones: as far as there are
  // any.
  void complete_fit() {
    if (!found_.network) return;
    try {
      fit_.model = to_signed_model(data_.coordinates().from_user(*found_.network));
      standardised_ = true;
    } catch (const DataError&) {
      fit_.model = to_signed_model(*found_.network);
      standardised_ = false;
    }
    if (!relu_) fit_.model.rectifier = std::make_shared<const Rectifier>(options_.rectifier);
    if (found_.outcome == SearchOutcome::kNoise && !found_.look)
      found_.look = look_at_residual(fit_.model, data_.standard(), control_);
  }

  void conclude(bool as_exact, const HeldOutCheck& held_out, const SampleSource& given, const Route& route) {
    Checks checks = std::move(found_.checks);
    for (const Assumption& test : data_.inspection().tests) result_.assumptions.push_back(test);
    const ResidualLook look = found_.look.value_or(ResidualLook());
    const Evidence evidence{
        fit_, held_out,          result_.held_out, data_.training()->rows(), result_.identifiability,
        look, data_.inspection()};
    std::string praise = as_exact ? check_exact(evidence, checks) : check_noisy(evidence, checks);
    if (route.recheck != nullptr) route.recheck(result_.network, given, options_, checks);
    if (as_exact && options_.hidden && !checks.all_hold() && !found_.exact_only) look_for_fewer(checks);
    std::move(checks).conclude(result_, std::move(praise));
    if (result_.status == Status::kUncertified && result_.samples < result_.rows) {
      result_.reason += fmt::format("; {} of the {} rows repeat others and were left out",
                                    result_.rows - result_.samples, result_.rows);
    }
    if (result_.status == Status::kCertified) say_what_follows();
  }

  // Several networks of the number of units asked for reproduce the samples: because fewer units do?
  void look_for_fewer(Checks& checks) {
    FitOptions options;
    options.seed = options_.seed;
    const Fit fewer =
        fit_units(Matrix(0, data_.standard()->inputs() + 1), data_.standard(), options, control_);
    const Index needed = fewer.model.units();
    if (fewer.outcome != SearchOutcome::kExact || needed >= *options_.hidden) return;
    checks.require_first(
        "every unit needed", static_cast<double>(needed), static_cast<double>(*options_.hidden),
        fmt::format("{} of the {} units asked for reproduce all samples to rounding: the others never fire "
                    "within the samples, or equal another unit; leave the number of units to be found",
                    needed, *options_.hidden));
  }

  // Whether the weights' curvature can be had: a dense matrix, and nothing left open.
  [[nodiscard]] bool has_curvature() const {
    return relu_ && standardised_ && !fit_.model.linear_term && fit_.model.units() > 0 &&
           fit_.model.V.size() <= PolishOptions().dense_limit;
  }

  // Curvature at the fit with outputs weighted by 1 / spread.
  [[nodiscard]] ErrorEstimate curvature(const Vector& spread, const SamplePtr& rows) const {
    Standardisation weighted = data_.coordinates();
    weighted.map.D = weighted.map.D.cwiseQuotient(spread);
    SeparableModel model = fit_.model;
    model.C = model.C * spread.cwiseInverse().asDiagonal();
    return standard_errors(model, *affine(rows, weighted.map), 1.0, weighted, control_);
  }

  void estimate_errors(const Network& user) {
    if (fit_.noise_variance.size() == 0) return;
    const Vector spread = fit_.noise_variance.cwiseMax(kTiny).cwiseSqrt();
    if (has_curvature()) {
      const ErrorEstimate estimate = curvature(spread, data_.training());
      if (result_.network.hidden() == user.hidden()) {
        result_.standard_errors = errors_in_order(estimate.errors, user, result_.network);
        result_.max_standard_error = estimate.largest;
      }
    } else if (!found_.network) {
      return;
    }
    result_.noise_sd = std::sqrt(spread.cwiseQuotient(data_.coordinates().map.D).cwiseAbs2().mean());
  }

  // How far the function determines the weights, from some rows: in the outputs' own units.
  void determine(double bound) {
    if (!has_curvature()) return;
    const Index unknowns = fit_.model.V.size() + fit_.model.C.size();
    const Index enough = std::max<Index>(kCurvatureRows, 4 * unknowns / fit_.model.C.cols());
    const SamplePtr& training = data_.training();
    const Vector& D = data_.coordinates().map.D;
    SamplePtr rows = training->rows() > enough ? spread_subset(*training, enough) : training;
    const double spread = std::sqrt(D.cwiseInverse().cwiseAbs2().mean());
    ErrorEstimate estimate = curvature(D, rows);
    // A unit that is seldom active may be on too few of these rows: ask all of them.
    if (estimate.smallest_singular < kDoubtful * spread && rows != training) {
      rows = training;
      estimate = curvature(D, rows);
    }
    Identifiability found;
    found.smallest_singular = estimate.smallest_singular / spread;
    found.epsilon = std::sqrt(bound);
    found.delta = found.epsilon * std::sqrt(static_cast<double>(rows->rows())) * estimate.largest;
    result_.identifiability = found;
  }

  // States the bound; returns that of networks of as many units, from which the weights are bounded.
  double bound_function_error(const HeldOutCheck& check) {
    if (found_.outcome == SearchOutcome::kNoise && found_.look && looks_like_noise(*found_.look)) {
      const auto p = static_cast<double>(
          free_parameters(result_.network.inputs(), result_.network.hidden(), result_.network.outputs()));
      result_.functional_error_bound =
          bound_fitted_noise(p, result_.noise_sd * result_.noise_sd, data_.training()->rows());
      result_.bound_from = "the noise and the number of parameters, held-out residuals being noise";
    } else {
      result_.functional_error_bound = bound_mean_square(check, result_.held_out);
      result_.bound_from = "held-out residuals, whatever they are made of";
    }
    const double seen = result_.functional_error_bound;
    if (found_.exact_only) {
      // Other networks may agree on all rows and differ where no row lies (paper rectified, Lemma 16).
      result_.functional_error_bound =
          std::max(seen, unseen_share(static_cast<double>(result_.held_out)) * check.output_square);
      result_.bound_from = "held-out outputs: no more than this share of rows could be wrong unseen";
    }
    return seen;
  }

  void measure_activity() {
    if (result_.network.hidden() == 0) return;
    const SamplePtr rows = spread_subset(*data_.training(), 4 * kCurvatureRows);
    SampleBlock block;
    rows->read(0, rows->rows(), block);
    const RowMatrix z = (block.x() * result_.network.W.transpose()).rowwise() + result_.network.b.transpose();
    result_.activity = (z.array() > 0).cast<double>().colwise().mean().transpose();
  }

  // What follows from a certificate, and from what no sample can show.
  void say_what_follows() {
    const Index k = result_.network.hidden();
    if (result_.noise_sd > 0) {
      result_.conclusion = fmt::format(
          "The samples are those of this network plus noise of standard deviation {:.3g}; every weight lies "
          "within two of its standard errors ({:.2g} at most) of the stated one with confidence 0.95",
          result_.noise_sd, result_.max_standard_error);
      result_.assumed = {
          "the noise is independent of the inputs and from row to row, with one variance an output"};
    } else {
      const std::string weights = result_.identifiability ? fmt::format("these weights to within {:.2g}",
                                                                        result_.identifiability->delta)
                                                          : "these weights";
      result_.conclusion = fmt::format(
          "The samples are those of this network; any network of at most {} units that agrees with it on the "
          "input distribution to within {:.2g} (root mean square) has {}, up to the order and the scale of "
          "its units",
          k, std::sqrt(result_.functional_error_bound), weights);
    }
    result_.assumed.insert(
        result_.assumed.end(),
        {fmt::format("the network behind the samples has at most {} units, in one layer", k),
         "rows are independent draws of the input distribution that the conclusion is about",
         "units that bend nowhere among the samples, if any, are not part of the question"});
  }

  RecoverResult& result_;
  Prepared& data_;
  Found& found_;
  Fit& fit_;
  const RecoverOptions& options_;
  const Control& control_;
  bool relu_ = true;
  bool standardised_ = true;  // is fit_.model in standardised coordinates?
};

}  // namespace

void RecoverOptions::validate() const {
  RouteOptions::validate();
  check_route(route, *this);
}

RecoverResult recover(const SamplePtr& samples, const RecoverOptions& options, const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  RecoverResult result;
  result.activation = options.rectifier.name;
  StageClock clock;
  Plan plan;
  plan.route = options.route;
  plan.options = options;
  plan.looks_final = is_noise;
  Journey journey = travel(samples, plan, result, clock, control);
  Found& found = journey.found;
  if (found.spectrum) {
    result.singular_values = found.spectrum->singular_values;
    result.noise_floor = found.spectrum->noise_floor;
    result.gap_units = found.spectrum->above_noise;
  }
  result.gaps = std::move(found.gaps);
  result.support = std::move(found.support);
  if (!found.refusal.empty()) {
    const Index d = samples->inputs(), m = samples->outputs();
    result.network = {Matrix(0, d), Vector(0), Matrix(m, 0), Vector::Zero(m), {}};
    std::move(found.checks).conclude(result, "");
    result.status = Status::kRefused;
    result.reason = found.refusal;
  } else {
    Judge(result, journey, options).run(*samples, *journey.route);
    clock.lap("check");
  }
  result.timings = clock.laps();
  return result;
}

}  // namespace exhume
