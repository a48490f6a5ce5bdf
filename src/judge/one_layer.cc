#include "judge/one_layer.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/ended.h"
#include "base/limits.h"
#include "data/reduce.h"
#include "exhume/error.h"
#include "fit/effects.h"
#include "fit/errors.h"
#include "fit/residuals.h"
#include "judge/entries.h"
#include "judge/final_look.h"
#include "judge/hinge_profiles.h"
#include "judge/interval_rule.h"
#include "model/activation_table.h"
#include "model/rectified_network.h"

namespace exhume {
namespace {

// Rows from which identifiability is estimated, at least; activity from four times as many.
constexpr Index kCurvatureRows = 1024;
// Smallest singular value, in units of the outputs' spread, below which all rows are asked.
constexpr double kDoubtful = 1e-2;
// Factor by which the last growth lowered a residual that still falls.
constexpr double kStillFalls = 1.05;

// Numbers that are written into a certificate, at most.
constexpr Index kMostEffects = 5000;

// The unit of `from` that is unit i of `to`, which is canonical(from): found by its row.
std::vector<Index> order_of(const Network& from, const Network& to) {
  std::vector<Index> order;
  const bool scaled = to.activation == "relu";
  std::vector<bool> used(static_cast<size_t>(from.hidden()), false);
  for (Index i = 0; i < to.hidden(); ++i) {
    Index best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (Index j = 0; j < from.hidden(); ++j) {
      if (used[static_cast<size_t>(j)]) continue;
      const double size = scaled ? from.W().row(j).norm() : 1;
      const auto apart = [&](double sign) {
        return (sign / size * from.W().row(j) - to.W().row(i)).squaredNorm() +
               std::pow(sign / size * from.b()(j) - to.b()(i), 2);
      };
      const double distance = scaled ? apart(1) : std::min(apart(1), apart(-1));
      if (distance < least) {
        least = distance;
        best = j;
      }
    }
    if (best < 0) return {};  // fewer units, or weights that are no numbers
    used[static_cast<size_t>(best)] = true;
    order.push_back(best);
  }
  return order;
}

// `errors` in the order of the units that they belong to.
Network errors_in_order(const Network& errors, const std::vector<Index>& order) {
  // None were estimated where time was up.
  if (errors.empty() || errors.hidden() != static_cast<Index>(order.size())) return errors;
  Network out = errors;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto to = static_cast<Index>(i);
    out.W().row(to) = errors.W().row(order[i]);
    out.b()(to) = errors.b()(order[i]);
    out.A().col(to) = errors.A().col(order[i]);
  }
  return out;
}

double largest_of(const Network& errors) {
  double largest = 0;
  const auto look = [&](const Eigen::Ref<const Matrix>& part) {
    if (part.size() > 0) largest = std::max(largest, part.maxCoeff());
  };
  look(errors.W());
  look(errors.b());
  look(errors.A());
  look(errors.c());
  look(errors.L());
  return largest;
}

// The units of what was found: its own, or those that were asked for.
Rectifier unit_of(const JudgeInput& input) {
  const Found& found = input.found;
  if (found.fit.model.rectifier) return *found.fit.model.rectifier;
  if (found.network && found.network->activation != "relu") return parse_rectifier(found.network->activation);
  return parse_rectifier(input.options.unit_name());
}

class OneLayer final : public JudgedNetwork {
 public:
  explicit OneLayer(const JudgeInput& input)
      : data_(input.data),
        found_(input.found),
        fit_(input.found.fit),
        options_(input.options),
        control_(input.control),
        rectifier_(unit_of(input)),
        relu_(rectifier_.name == "relu"),
        smooth_(rectifier_.everywhere && !rectifier_.multiplicative()),
        as_stored_(input.as_stored),
        exact_(found_.outcome == SearchOutcome::kExact),
        time_ended_(control_.out_of_time()),
        spent_(input.spent) {}

  void place(Result& result) override {
    complete_fit();
    user_ = found_.network ? *found_.network : data_.coordinates().to_user(to_network(fit_.model));
    prefer_sigmoids();
    result.network = (rectifier_.multiplicative() || smooth_) && !as_stored_ ? canonical(user_) : user_;
    result.signs_identifiable = fit_.signs.outcome == SignOutcome::kUnique;
    result.errors.training_relative_mse = fit_.relative_mse;
    std::vector<PolishStep>& descent = result.diagnostics.descent;
    const auto step = [&descent](const char* stage, double relative_mse) {
      descent.push_back({stage, static_cast<int>(descent.size()), relative_mse});
    };
    for (const double value : found_.start_descent) step("rounds on the residual", value);
    for (const FitDescent& at : fit_.descent) step(at.signed_form ? "signed" : "sign-free", at.relative_mse);
  }

  [[nodiscard]] RowMatrix predict(const Result& result, const Eigen::Ref<const RowMatrix>& x) const override {
    return relu_ || rectifier_.everywhere ? evaluate(result.network, x)
                                          : evaluate(result.network, rectifier_, x);
  }

  void measure(HeldOutCheck& held_out, Result& result) override {
    if (fit_.noise_covariance.size() > 0)
      held_out.noise = fit_.noise_covariance.diagonal().cwiseQuotient(data_.coordinates().map.D.cwiseAbs2());
    if (!exact_) estimate_errors(result);
    determine(bound_function_error(held_out, result), result);
    measure_activity(result);
  }

  [[nodiscard]] Verdict check(const HeldOutCheck& held_out, Result& result, Checks& checks) override {
    const ResidualLook look = found_.look.value_or(ResidualLook());
    EntryCheck training, unseen;
    UnitSupport support;
    if (as_exact()) {
      const Rectifier* rectifier = relu_ || rectifier_.everywhere ? nullptr : &rectifier_;
      Entries entries(data_, fit_, standardised_);
      training = entries.check(result.network, rectifier, *data_.training(), false, control_);
      unseen = entries.check(result.network, rectifier, *data_.held_out(), true, control_);
    } else {
      support = unit_support(result);
    }
    const Evidence evidence{fit_,
                            held_out,
                            result.certificate.held_out,
                            data_.training()->rows(),
                            result.errors.identifiability,
                            data_.inspection(),
                            data_.precision(),
                            training,
                            unseen,
                            look,
                            support};
    Verdict verdict;
    if (as_exact()) {
      verdict.reason = check_exact(evidence, checks);
      result.precision = precision_words(evidence);
      return verdict;
    }
    verdict.best = Status::kEstimated;
    if (time_ended_ && (found_.outcome == SearchOutcome::kStuck || fit_.out_of_time)) {
      say_time_ended(checks);
    } else {
      state_intervals(evidence, result.errors);
      verdict.reason = check_noisy(evidence, checks);
    }
    return verdict;
  }

  // Several networks of the number of units asked for reproduce the samples: because fewer units do?
  void explain_failure(Checks& checks) override {
    const std::optional<Index> asked = options_.hidden();
    if (!as_exact() || !asked || found_.exact_only || !relu_) return;
    FitOptions options;
    options.seed = options_.seed;
    const Fit fewer =
        fit_units(Matrix(0, data_.standard()->inputs() + 1), data_.standard(), options, control_);
    const Index needed = fewer.model.units();
    if (fewer.outcome != SearchOutcome::kExact || needed >= *asked) return;
    checks.require_first(
        "every unit needed", static_cast<double>(needed), static_cast<double>(*asked),
        fmt::format("{} of the {} units asked for reproduce{} all samples to rounding: the others are never "
                    "active on the samples, or equal another unit; leave the number of units open",
                    needed, *asked, needed == 1 ? "s" : ""));
  }

  void conclude(Result& result) override {
    Certificate& certificate = result.certificate;
    const Errors& errors = result.errors;
    const Index k = result.network.hidden();
    if (certificate.status == Status::kEstimated) {
      certificate.conclusion = fmt::format(
          "No test contradicts that the samples are those of a network of {} plus independent noise. If they "
          "are, the noise has standard deviation {:.3g}, {}and this network differs from the true one by at "
          "most {:.2g} (root mean square, confidence {})",
          counted(k, "unit"), errors.noise_sd,
          errors.max_standard_error > 0
              ? fmt::format(
                    "each weight by itself has a 95% interval of {:.3g} standard errors to either side "
                    "(no standard error is above {:.2g}), ",
                    errors.reach, errors.max_standard_error)
              : "",
          std::sqrt(errors.functional_error_bound), errors.confidence);
      certificate.assumed = {
          "the noise is independent of the inputs and from row to row, with one covariance",
          "without the noise the outputs are those of a network of this kind: a deviation much smaller than "
          "the noise would not be seen",
          fmt::format("there are no further units: one that explains less than {1:.2g} of the outputs' "
                      "variance would "
                      "not have been seen, so without this assumption {0} is only a lower bound",
                      counted(k, "unit"), errors.unseen_unit)};
    } else {
      const std::string weights =
          errors.identifiability
              ? fmt::format("these weights to within {:.2g} (to first order)", errors.identifiability->delta)
              : "these weights";
      certificate.conclusion = fmt::format(
          "This network reproduces all samples. Any nearby network of at most {} whose outputs differ from "
          "its outputs by at most {:.2g} (root mean square over the input distribution) has {}, up to the "
          "order and the {} of its units",
          counted(k, "unit"), std::sqrt(errors.functional_error_bound), weights, smooth_ ? "signs" : "scale");
    }
    certificate.assumed.insert(
        certificate.assumed.end(),
        {fmt::format("the samples were generated by a network of at most {} in one layer",
                     counted(k, "unit")),
         "rows are independent draws of the input distribution that the conclusion is about",
         smooth_ ? fmt::format(
                       "its units are {}: minimal networks of this kind compute the same function only if "
                       "they agree up to the order and the signs of their units ({})",
                       rectifier_.name == "tanh"      ? "tanh (or sigmoids: the same networks)"
                       : rectifier_.name == "sigmoid" ? "sigmoids (or tanh: the same networks)"
                                                      : rectifier_.name,
                       rectifier_.name == "tanh" || rectifier_.name == "sigmoid"
                           ? "Sussmann 1992"
                           : "proved for tanh by Sussmann 1992; assumed here")
                 : "units that are off on all samples, if there are any, cannot be seen"});
  }

 private:
  [[nodiscard]] bool as_exact() const { return exact_ || found_.exact_only; }

  // tanh and sigmoids are the same networks, but for the constants of the outputs: called sigmoids where
  // those then have none.
  void prefer_sigmoids() {
    constexpr double kNothing = 1e-6;  // of the output weights: what single precision leaves
    if (as_stored_ || rectifier_.name != "tanh" || options_.activation != "auto" || !as_exact() ||
        user_.has_skip_terms())
      return;
    const Network other = in_sigmoid_units(user_);
    const double least = kNothing * user_.A().cwiseAbs().sum();
    if (other.c().cwiseAbs().maxCoeff() > least || user_.c().cwiseAbs().maxCoeff() <= least) return;
    user_ = other;
    rectifier_ = parse_rectifier(user_.activation);
    fit_.model = to_signed_form(data_.coordinates().from_user(user_));
  }

  // A network that was found in the user's coordinates, as a fit in standardised ones: as far as there are
  // any.
  void complete_fit() {
    if (!found_.network) return;
    try {
      fit_.model = to_signed_form(data_.coordinates().from_user(*found_.network));
      if (relu_) fit_.model = scale_units(std::move(fit_.model));
      standardised_ = true;
    } catch (const DataError&) {
      fit_.model = to_signed_form(*found_.network);
      standardised_ = false;
    }
    if (!relu_) fit_.model.rectifier = std::make_shared<const Rectifier>(rectifier_);
    if (found_.outcome == SearchOutcome::kNoise && !found_.look)
      found_.look = look_at_residual(fit_.model, data_.standard(), control_, data_.user_columns());
  }

  // Says that time, or the user, ended the search: this is no property of the data.
  void say_time_ended(Checks& checks) const {
    const double budget = options_.budget_seconds;
    // This check compares no numbers.
    constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
    const std::string found =
        fmt::format("{} unit{}{}", fit_.model.units(), fit_.model.units() == 1 ? "" : "s",
                    fit_.last_improvement > kStillFalls ? ", while the residual was still falling" : "");
    if (searches_ended(control_)) {
      checks.require("search not interrupted", kNothing, kNothing, false,
                     fmt::format("interrupted after {:.3g} s with {}", spent_, found));
      return;
    }
    checks.require("search finished within its budget", kNothing, kNothing, false,
                   fmt::format("stopped after {:.3g} s with {}; give a time limit of {:.0f} s{}", spent_,
                               found, std::max(1.0, std::ceil(5 * budget)),
                               options_.hidden() ? "" : " or the number of hidden units"));
  }

  [[nodiscard]] bool has_weights() const {
    return (relu_ || smooth_) && standardised_ && has_curvature(fit_.model);
  }

  // Curvature at the fit with outputs y' = Q D (y - nu), D those of the standardisation.
  [[nodiscard]] ErrorEstimate curvature(const Matrix& Q, const SamplePtr& rows) const {
    const Standardisation& coordinates = data_.coordinates();
    const Matrix right = Q.transpose();
    const SamplePtr mixed =
        with_outputs(affine(rows, coordinates.map),
                     [right](const Eigen::Ref<const RowMatrix>&, RowMatrix& y) { y = (y * right).eval(); });
    Form model = fit_.model;
    model.C = model.C * right;
    const Matrix unmix = (Q * coordinates.map.D.asDiagonal()).inverse();
    return Curvature(model, *mixed, control_).errors(1.0, coordinates, unmix);
  }

  void estimate_errors(Result& result) {
    if (fit_.noise_covariance.size() == 0) return;
    Errors& errors = result.errors;
    const Vector scale = data_.coordinates().map.D.cwiseInverse();
    errors.noise_covariance = scale.asDiagonal() * fit_.noise_covariance * scale.asDiagonal();
    errors.noise_sd = std::sqrt(errors.noise_covariance.diagonal().mean());
    state_unseen_unit(errors);
    if (!relu_ || !standardised_ || result.network.hidden() != user_.hidden()) return;
    const std::vector<Index> order = order_of(user_, result.network);
    const OutputMixing mixing = unit_noise(fit_.noise_covariance);
    Form model = fit_.model;
    model.C = model.C * mixing.Q.transpose();
    const Index d = model.inputs, k = model.units(), m = model.C.cols();
    const Index fitted = free_parameters(d, k, m) + (model.features() > k + 1 ? d * m : 0);
    const auto entries = static_cast<double>(data_.training()->rows() * m);
    errors.degrees_of_freedom = std::max(1.0, entries - static_cast<double>(fitted));
    errors.reach = student_limit(1 - kIntervalConfidence, errors.degrees_of_freedom);
    if (FitCovariance::affordable(model)) {
      const Standardisation& coordinates = data_.coordinates();
      const Matrix unmix = (mixing.Q * coordinates.map.D.asDiagonal()).inverse();
      const FitCovariance covariance(model, mixed_outputs(data_.standard(), mixing), control_);
      errors_ = errors_in_order(covariance.errors(coordinates, unmix), order);
      if (effect_count(model) <= kMostEffects)
        effects_ = effects_of(covariance, coordinates, unmix, order, errors.reach);
    } else if (has_weights()) {
      errors_ = errors_in_order(curvature(mixing.Q, data_.training()).errors, order);
    } else {
      return;
    }
    per_number_ = entries / static_cast<double>(fitted);
  }

  // States intervals of the weights where no check speaks against them. Two networks without certificate have
  // some too, because their slopes are determined: one with a linear term, which leaves the signs of units
  // open, and one without units, which is a linear regression.
  void state_intervals(const Evidence& evidence, Errors& errors) {
    if (largest_of(errors_) == 0) return;
    Checks again;
    (void)check_noisy(evidence, again);
    Certificate on_trial;
    std::move(again).conclude(on_trial, "");
    for (const Assumption& a : on_trial.assumptions) {
      if (a.holds || a.name == "no linear term needed" || a.name == "at least one hidden unit" ||
          (a.name == "no structure left in the residual" && evidence.look.units <= 1))
        continue;
      errors.no_intervals = "no intervals: a condition does not hold, " + a.name;
      break;
    }
    if (errors.no_intervals.empty() && !found_.look)
      errors.no_intervals = "no intervals: the residuals were not tested";
    if (errors.no_intervals.empty() && per_number_ < kRowsForIntervals) {
      errors.no_intervals =
          fmt::format("too few rows for intervals: {:.1f} entries per weight, {:.0f} are needed", per_number_,
                      kRowsForIntervals);
    }
    if (errors.no_intervals.empty() && weakest_ > 0 && weakest_ < kWeakestUnit * errors.unseen_unit) {
      errors.no_intervals = fmt::format(
          "too few rows for intervals: the weakest unit explains {:.2g} of the "
          "outputs' variance, and units that explain less than {:.2g} would not be seen",
          weakest_, errors.unseen_unit);
    }
    if (errors.no_intervals.empty() && found_.look->doubt > 1)
      errors.no_intervals = "no intervals: " + found_.look->doubtful;
    if (!errors.no_intervals.empty()) return;
    errors.coverage = interval_coverage(per_number_);
    errors.standard_errors = errors_;
    errors.max_standard_error = largest_of(errors_);
    errors.effects = effects_;
  }

  // What the best candidate may score by chance, and 3.29 deviations more: seen with confidence 0.999.
  void state_unseen_unit(Errors& errors) {
    if (!found_.look && found_.outcome == SearchOutcome::kNoise && standardised_)
      found_.look = look_at_residual(fit_.model, data_.standard(), control_, data_.user_columns());
    if (!found_.look) return;
    const auto entries = static_cast<double>(data_.training()->rows() * data_.training()->outputs());
    errors.unseen_unit = fit_.relative_mse / entries *
                         std::pow(std::sqrt(found_.look->unit_level) + confidence_deviations(), 2);
  }

  // How well noisy samples support every unit.
  [[nodiscard]] UnitSupport unit_support(const Result& result) {
    UnitSupport support;
    const Form& model = fit_.model;
    const Index k = model.units(), d = model.inputs, m = model.C.cols();
    if (k == 0 || fit_.noise_covariance.size() == 0) return support;
    const SamplePtr& rows = data_.standard();
    const double n = static_cast<double>(rows->rows());
    const OutputMixing mixing = unit_noise(fit_.noise_covariance);
    Form mixed = model;
    mixed.C = model.C * mixing.Q.transpose();
    const double price = static_cast<double>(d + m) * std::log(n * static_cast<double>(m));
    const double weakest = unit_worth(mixed, *rows, control_).minCoeff();
    weakest_ = weakest * fit_.relative_mse;
    support.worth = weakest * n * static_cast<double>(m) / price;
    support.rows = smooth_ ? n : rows_beside(model, *rows);
    const Network& errors = errors_;
    for (Index j = 0; j < errors.hidden(); ++j) {
      const double output = result.network.A().col(j).norm();
      support.error = std::max({support.error, errors.W().row(j).norm(), errors.A().col(j).norm() / output});
    }
    return support;
  }

  // The least number of rows on one side of a unit's kink.
  [[nodiscard]] double rows_beside(const Form& model, const SampleSource& rows) const {
    struct Active {
      Vector rows;
      void merge(const Active& other) { rows += other.rows; }
    };
    const Active active = reduce_blocks(
        rows, Active{Vector::Zero(model.units())}, control_, "", [&](Active& to, const SampleBlock& block) {
          const Index d = model.inputs;
          const Matrix z =
              (block.x() * model.V[0].leftCols(d).transpose()).rowwise() + model.V[0].col(d).transpose();
          to.rows += (z.array() > 0).cast<double>().colwise().sum().matrix().transpose();
        });
    return active.rows.cwiseMin((static_cast<double>(rows.rows()) - active.rows.array()).matrix()).minCoeff();
  }

  // How far the function determines the weights, from some rows: in the outputs' own units.
  void determine(double bound, Result& result) {
    if (!has_weights()) return;
    const Index unknowns = fit_.model.unknowns() + fit_.model.C.size();
    const Index enough = std::max<Index>(kCurvatureRows, 4 * unknowns / fit_.model.C.cols());
    const SamplePtr& training = data_.training();
    const Vector& D = data_.coordinates().map.D;
    SamplePtr rows = training->rows() > enough ? spread_subset(*training, enough) : training;
    const double spread = std::sqrt(D.cwiseInverse().cwiseAbs2().mean());
    const Matrix own = D.cwiseInverse().asDiagonal();  // the outputs' own units
    ErrorEstimate estimate = curvature(own, rows);
    // A unit that is seldom active may be on too few of these rows: ask all of them.
    if (estimate.smallest_singular < kDoubtful * spread && rows != training) {
      rows = training;
      estimate = curvature(own, rows);
    }
    Identifiability found;
    found.smallest_singular = estimate.smallest_singular / spread;
    found.epsilon = std::sqrt(bound);
    found.delta = found.epsilon * std::sqrt(static_cast<double>(rows->rows())) * estimate.largest;
    result.errors.identifiability = found;
  }

  // States the bound; returns that of networks of as many units, from which the weights are bounded.
  double bound_function_error(const HeldOutCheck& check, Result& result) {
    Errors& errors = result.errors;
    const Index held_out = result.certificate.held_out;
    if (found_.outcome == SearchOutcome::kNoise && found_.look && looks_like_noise(*found_.look)) {
      const auto p = static_cast<double>(
          free_parameters(result.network.inputs(), result.network.hidden(), result.network.outputs()) +
          (smooth_ ? result.network.hidden() : 0));
      const Eigen::SelfAdjointEigenSolver<Matrix> noise(errors.noise_covariance, Eigen::EigenvaluesOnly);
      errors.functional_error_bound = bound_fitted_noise(p, noise.eigenvalues().maxCoeff(),
                                                         found_.look->missed, data_.training()->rows());
      errors.bound_from =
          "the noise, the number of parameters and what the tests of the residuals may have missed, if the "
          "residuals are independent noise";
    } else {
      errors.functional_error_bound = bound_mean_square(check, held_out);
      errors.bound_from = "held-out residuals, noise included";
    }
    const double seen = errors.functional_error_bound;
    if (found_.exact_only) {
      // Other networks may agree on all rows and differ where no row lies (paper rectified, Lemma 16).
      errors.functional_error_bound =
          std::max(seen, unseen_share(static_cast<double>(held_out)) * check.output_square);
      errors.bound_from =
          "held-out rows: if the network were wrong on a larger share of the inputs, one of them would have "
          "shown it";
    }
    return seen;
  }

  void measure_activity(Result& result) const {
    if (result.network.hidden() == 0) return;
    const SamplePtr rows = spread_subset(*data_.training(), 4 * kCurvatureRows);
    SampleBlock block;
    rows->read(0, rows->rows(), block);
    const RowMatrix z =
        (block.x() * result.network.W().transpose()).rowwise() + result.network.b().transpose();
    result.diagnostics.activity = (z.array() > 0).cast<double>().colwise().mean().transpose();
    result.diagnostics.profiles = hinge_profiles(result.network, rectifier_, block.x(), block.y());
  }

  Prepared& data_;
  Found& found_;
  Fit& fit_;
  const RecoverOptions& options_;
  const Control& control_;
  Rectifier rectifier_;
  bool relu_ = true, smooth_ = false, as_stored_ = false;
  bool exact_ = false;        // the search ended at rounding
  bool time_ended_ = false;   // the budget was used up when the search ended
  double spent_ = 0;          // seconds until the search ended
  bool standardised_ = true;  // is fit_.model in standardised coordinates?
  Network user_;              // as it was found, in the user's coordinates
  // Of the result's network, stated or not: standard errors, slopes and hinges, rows for every number fitted.
  Network errors_;
  std::vector<Effect> effects_;
  double per_number_ = 0;
  double weakest_ = 0;  // share of the outputs' variance that is lost without the weakest unit
};

}  // namespace

std::unique_ptr<JudgedNetwork> one_layer(const JudgeInput& input) {
  return std::make_unique<OneLayer>(input);
}

}  // namespace exhume
