#include "judge/one_layer.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "data/reduce.h"
#include "exhume/error.h"
#include "fit/errors.h"
#include "fit/residuals.h"
#include "judge/entries.h"
#include "judge/final_look.h"
#include "model/rectified_network.h"

namespace exhume {
namespace {

// Rows from which identifiability is estimated, at least; activity from four times as many.
constexpr Index kCurvatureRows = 1024;
// Smallest singular value, in units of the outputs' spread, below which all rows are asked.
constexpr double kDoubtful = 1e-2;
// Factor by which the last growth lowered a residual that still falls.
constexpr double kStillFalls = 1.05;

// `errors` in the order of the units of `to`, which is canonical(from): every unit's place is found by its
// row.
Network errors_in_order(const Network& errors, const Network& from, const Network& to) {
  Network out = errors;
  std::vector<bool> used(static_cast<size_t>(from.hidden()), false);
  for (Index i = 0; i < to.hidden(); ++i) {
    Index best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (Index j = 0; j < from.hidden(); ++j) {
      if (used[static_cast<size_t>(j)]) continue;
      const double distance = (from.W().row(j).normalized() - to.W().row(i)).squaredNorm() +
                              std::pow(from.b()(j) / from.W().row(j).norm() - to.b()(i), 2);
      if (distance < least) {
        least = distance;
        best = j;
      }
    }
    used[static_cast<size_t>(best)] = true;
    out.W().row(i) = errors.W().row(best);
    out.b()(i) = errors.b()(best);
    out.A().col(i) = errors.A().col(best);
  }
  return out;
}

class OneLayer final : public JudgedNetwork {
 public:
  explicit OneLayer(const Case& under)
      : data_(under.data),
        found_(under.found),
        fit_(under.found.fit),
        options_(under.options),
        control_(under.control),
        rectifier_(parse_rectifier(under.options.activation)),
        relu_(rectifier_.name == "relu"),
        as_stored_(under.as_stored),
        exact_(found_.outcome == SearchOutcome::kExact),
        time_ended_(control_.out_of_time()),
        spent_(under.spent) {}

  void place(Result& result) override {
    complete_fit();
    user_ = found_.network ? *found_.network : data_.coordinates().to_user(to_network(fit_.model));
    result.network = rectifier_.multiplicative() && !as_stored_ ? canonical(user_) : user_;
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
    return relu_ ? evaluate(result.network, x) : evaluate(result.network, rectifier_, x);
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
      const Rectifier* rectifier = relu_ ? nullptr : &rectifier_;
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
      verdict.reason = check_noisy(evidence, checks);
    }
    return verdict;
  }

  // Several networks of the number of units asked for reproduce the samples: because fewer units do?
  void explain_failure(Checks& checks) override {
    const std::optional<Index> asked = options_.hidden();
    if (!as_exact() || !asked || found_.exact_only) return;
    FitOptions options;
    options.seed = options_.seed;
    const Fit fewer =
        fit_units(Matrix(0, data_.standard()->inputs() + 1), data_.standard(), options, control_);
    const Index needed = fewer.model.units();
    if (fewer.outcome != SearchOutcome::kExact || needed >= *asked) return;
    checks.require_first(
        "every unit needed", static_cast<double>(needed), static_cast<double>(*asked),
        fmt::format("{} of the {} units asked for reproduce all samples to rounding: the others never fire "
                    "within the samples, or equal another unit; leave the number of units to be found",
                    needed, *asked));
  }

  void conclude(Result& result) override {
    Certificate& certificate = result.certificate;
    const Errors& errors = result.errors;
    const Index k = result.network.hidden();
    if (certificate.status == Status::kEstimated) {
      certificate.conclusion = fmt::format(
          "If the samples are those of a network of {} unit{} plus independent noise, and no test "
          "contradicts "
          "that, then the noise has standard deviation {:.3g}, {}and this network is off by {:.2g} at most "
          "(root mean square, confidence {})",
          k, k == 1 ? "" : "s", errors.noise_sd,
          errors.max_standard_error > 0
              ? fmt::format("every weight lies within two of its standard errors ({:.2g} at most) of the "
                            "stated one with confidence 0.95, ",
                            errors.max_standard_error)
              : "",
          std::sqrt(errors.functional_error_bound), errors.confidence);
      certificate.assumed = {
          "the noise is independent of the inputs and from row to row, with one covariance",
          "what is not noise is a network of this kind: a deviation much smaller than the noise cannot be "
          "told from it"};
    } else {
      const std::string weights = errors.identifiability ? fmt::format("these weights to within {:.2g}",
                                                                       errors.identifiability->delta)
                                                         : "these weights";
      certificate.conclusion = fmt::format(
          "The samples are those of this network; any network of at most {} units that agrees with it on the "
          "input distribution to within {:.2g} (root mean square) has {}, up to the order and the scale of "
          "its units",
          k, std::sqrt(errors.functional_error_bound), weights);
    }
    certificate.assumed.insert(
        certificate.assumed.end(),
        {fmt::format("the network behind the samples has at most {} units, in one layer", k),
         "rows are independent draws of the input distribution that the conclusion is about",
         "units that bend nowhere among the samples, if any, are not part of the problem"});
  }

 private:
  [[nodiscard]] bool as_exact() const { return exact_ || found_.exact_only; }

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
      found_.look = look_at_residual(fit_.model, data_.standard(), control_);
  }

  // Time ended the search: that says nothing about the data.
  void say_time_ended(Checks& checks) const {
    const double budget = options_.budget_seconds;
    checks.require(
        "search finished within its budget", spent_, budget, false,
        fmt::format("stopped after {:.3g} s with {} unit{}{}; give a time limit of {:.0f} s{}", spent_,
                    fit_.model.units(), fit_.model.units() == 1 ? "" : "s",
                    fit_.last_improvement > kStillFalls ? ", while the residual was still falling" : "",
                    std::max(1.0, std::ceil(5 * budget)),
                    options_.hidden() ? "" : " or the number of hidden units"));
  }

  [[nodiscard]] bool has_weights() const { return relu_ && standardised_ && has_curvature(fit_.model); }

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
    if (!has_weights() || result.network.hidden() != user_.hidden()) return;
    const ErrorEstimate estimate = curvature(unit_noise(fit_.noise_covariance).Q, data_.training());
    errors.standard_errors = errors_in_order(estimate.errors, user_, result.network);
    errors.max_standard_error = estimate.largest;
  }

  // How well noisy samples support every unit.
  [[nodiscard]] UnitSupport unit_support(const Result& result) const {
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
    support.worth = unit_worth(mixed, *rows, control_).minCoeff() * n * static_cast<double>(m) / price;
    support.rows = rows_beside(model, *rows);
    const Network& errors = result.errors.standard_errors;
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
          free_parameters(result.network.inputs(), result.network.hidden(), result.network.outputs()));
      const Eigen::SelfAdjointEigenSolver<Matrix> noise(errors.noise_covariance, Eigen::EigenvaluesOnly);
      errors.functional_error_bound = bound_fitted_noise(p, noise.eigenvalues().maxCoeff(),
                                                         found_.look->missed, data_.training()->rows());
      errors.bound_from =
          "the noise, the number of parameters and what tests of the residuals could have missed, if what is "
          "left is independent noise";
    } else {
      errors.functional_error_bound = bound_mean_square(check, held_out);
      errors.bound_from = "held-out residuals, whatever they are made of";
    }
    const double seen = errors.functional_error_bound;
    if (found_.exact_only) {
      // Other networks may agree on all rows and differ where no row lies (paper rectified, Lemma 16).
      errors.functional_error_bound =
          std::max(seen, unseen_share(static_cast<double>(held_out)) * check.output_square);
      errors.bound_from = "held-out outputs: no more than this share of rows could be wrong unseen";
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
  }

  Prepared& data_;
  Found& found_;
  Fit& fit_;
  const RecoverOptions& options_;
  const Control& control_;
  Rectifier rectifier_;
  bool relu_ = true, as_stored_ = false;
  bool exact_ = false;        // the search ended at rounding
  bool time_ended_ = false;   // the budget was used up when the search ended
  double spent_ = 0;          // seconds until the search ended
  bool standardised_ = true;  // is fit_.model in standardised coordinates?
  Network user_;              // as it was found, in the user's coordinates
};

}  // namespace

std::unique_ptr<JudgedNetwork> one_layer(const Case& under) { return std::make_unique<OneLayer>(under); }

}  // namespace exhume
