#include "exhume/recover.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "base/blas.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "base/stage_clock.h"
#include "data/reduce.h"
#include "exhume/error.h"
#include "fit/residuals.h"
#include "fit/sums.h"
#include "fit/errors.h"
#include "fit/within_bounds.h"
#include "model/rectified_network.h"
#include "routes/engine.h"
#include "routes/table.h"

namespace exhume {
namespace {

// Rows from which identifiability is estimated, at least; activity from four times as many.
constexpr Index kCurvatureRows = 1024;
// Smallest singular value, in units of the outputs' spread, below which all rows are asked.
constexpr double kDoubtful = 1e-2;
// Factor by which the last growth lowered a residual that still falls.
constexpr double kStillFalls = 1.05;
// Share of the variance beyond which what is left is no rounding of outputs.
constexpr double kMostRounding = 1e-4;

Network errors_in_order(const Network& errors, const Network& from, const Network& to) {
  // `to` is canonical(from): find every unit's place by its row.
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

Network user_network(const Found& found, Prepared& data) {
  return found.network ? *found.network : data.coordinates().to_user(to_network(found.fit.model));
}

// The same network of ReLUs with w of unit norm in every unit, as the polish leaves it.
Form unit_rows(Form model) {
  for (Index j = 0; j < model.units(); ++j) {
    const double size = model.V[0].row(j).head(model.inputs).norm();
    if (!(size > 0)) continue;
    model.V[0].row(j) /= size;
    model.C.row(j) *= size;
  }
  return model;
}

// Whether the curvature of a fit in standardised coordinates can be had: a dense matrix, nothing left open.
bool has_curvature(const Form& model) {
  return !model.rectifier && model.plain && model.units() > 0 &&
         model.unknowns() <= PolishOptions().dense_limit;
}

// Entries of rows against a network (certify/entry_check.h), with what the rounding of the training rows does
// to the fit.
class Entries {
 public:
  // standardised: is the fit in standardised coordinates?
  Entries(Prepared& data, const Fit& fit, bool standardised)
      : data_(data), fit_(fit), standardised_(standardised) {}

  [[nodiscard]] EntryCheck check(const Network& network, const Rectifier* rectifier, const SampleSource& rows,
                                 bool unseen, const Control& control) {
    const bool rounded = data_.precision().coarse() && standardised_ && fit_.model.units() > 0;
    if (rounded) prepare();
    const FitErrors errors = [&](const Eigen::Ref<const RowMatrix>& x) { return fit_errors(x, control); };
    const EntryModel model(network, rectifier, standardised_ ? &data_.coordinates() : nullptr);
    return check_entries(model, rows, data_.precision(), unseen, rounded ? errors : FitErrors(), control);
  }

 private:
  // Before several threads ask: the coordinates, the samples, and the size of the rounding in them.
  void prepare() {
    // Of the larger errors, which the rows with the most say in the fit tend to have: E h^4 / E h^2 = h^2.
    const StoredPrecision& stored = data_.precision();
    const Vector square = stored.mean_fourth.cwiseQuotient((9 * stored.mean_square).cwiseMax(kTiny));
    deviation_ = square.cwiseSqrt().cwiseProduct(data_.coordinates().map.D).maxCoeff();
    (void)data_.standard();
  }

  // In the user's units, rows x m.
  [[nodiscard]] Matrix fit_errors(const Eigen::Ref<const RowMatrix>& x, const Control& control) {
    const AffineMap& map = data_.coordinates().map;
    const Eigen::RowVectorXd scale = deviation_ * map.D.cwiseInverse().transpose();
    if (!has_curvature(fit_.model)) {
      const double n = static_cast<double>(data_.training()->rows() * map.D.size());
      const double unknowns = static_cast<double>(fit_.model.unknowns() + fit_.model.C.size());
      return scale.replicate(x.rows(), 1) * std::sqrt(std::min(1.0, 4 * unknowns / n));
    }
    std::call_once(once_, [&] { curvature_.emplace(fit_.model, *data_.standard(), control); });
    const RowMatrix standard = (x.rowwise() - map.mu.transpose()) * map.P.transpose();
    return curvature_->of_values(standard).cwiseSqrt() * scale.asDiagonal();
  }

  Prepared& data_;
  const Fit& fit_;
  bool standardised_;
  double deviation_ = 0;  // of rounding errors, standardised units
  std::once_flag once_;
  std::optional<Curvature> curvature_;
};

// What the fit's model leaves; returns the products of its residuals.
Matrix measure_again(Fit& fit, const SampleSource& standard, const Control& control) {
  Matrix products = residual_products(fit.model, standard, kBlockRows, control);
  const Left left = measure(fit.model, products, standard.rows());
  fit.relative_mse = left.relative_mse;
  fit.noise_covariance = left.noise_covariance;
  fit.rows_per_unknown = left.rows_per_unknown;
  return products;
}

// Does the network reproduce every training entry to its stored precision, or one close to it that the fit is
// then replaced by?
bool reproduced_as_stored(Found& found, Prepared& data, const Control& control) {
  constexpr int kFitRounds = 5, kRounds = 40;
  const auto reproduced = [&](const Fit& fit) {
    return Entries(data, fit, true)
        .check(data.coordinates().to_user(to_network(fit.model)), nullptr, *data.training(), false, control)
        .reproduced();
  };
  if (found.network) return false;
  if (reproduced(found.fit)) return true;
  const StoredPrecision& stored = data.precision();
  const double n = static_cast<double>(data.training()->rows() * data.training()->outputs());
  if (found.fit.relative_mse > data.rounding()->level(n)) return false;
  const AffineMap& map = data.coordinates().map;
  const HalfWidth half_width = [&](double y, Index o) {
    return map.D(o) * stored.half_unit(y / map.D(o) + map.nu(o));
  };
  Fit closer = found.fit;
  closer.model = fit_rounded(found.fit.model, data.standard(), half_width, kFitRounds, control);
  if (!reproduced(closer)) {
    closer.model = within_bounds(closer.model, data.standard(), half_width, kRounds, control);
    if (!reproduced(closer)) return false;
  }
  measure_again(closer, *data.standard(), control);
  found.fit = std::move(closer);
  return true;
}

// Rows times squared inputs from which on a look at the residual takes many seconds; and rows that are looked at
// first then.
constexpr double kCostlyLook = 1e10;
constexpr Index kFewLookRows = 10'000;

bool costly_look(const SampleSource& rows) {
  const auto d = static_cast<double>(rows.inputs());
  return static_cast<double>(rows.rows()) * d * d > kCostlyLook;
}

// A network that is reproduced to the precision of the samples is final, and so is noise: the residual of a
// fit that a search calls noise is looked at once more.
bool is_final(Found& found, Prepared& data, const Control& control) {
  const bool exact = found.outcome == SearchOutcome::kExact;
  if (found.exact_only || (exact && !data.precision().coarse())) return true;
  if (found.fit.model.units() == 0) return found.outcome == SearchOutcome::kNoise;
  if (data.precision().coarse() && found.fit.relative_mse <= kMostRounding) {
    const bool reproduced = reproduced_as_stored(found, data, control);
    if (reproduced && (found.fit.structure < 1 || found.outcome == SearchOutcome::kExact)) {
      found.outcome = SearchOutcome::kExact;
      return true;
    }
  }
  // What shows on some rows shows on all: no pass over very many is needed to tell that a search got stuck.
  const SamplePtr& rows = data.standard();
  if (found.outcome == SearchOutcome::kStuck && costly_look(*rows)) {
    found.look = look_at_residual(found.fit.model, spread_subset(*rows, kFewLookRows), control);
    if (!looks_like_noise(*found.look)) return false;
  }
  found.look = look_at_residual(found.fit.model, rows, control);
  // The search weighs all outputs alike and looks at some rows; this look knows better.
  if (!looks_like_noise(*found.look)) return false;
  found.outcome = found.fit.outcome = SearchOutcome::kNoise;
  found.fit.structure = found.look->units;
  return true;
}

// The verdict on what a route found.
class Judge {
 public:
  // spent: seconds so far. as_stored: the network was read from a file and stays as it is, bit by bit.
  Judge(RecoverResult& result, Journey& journey, const RecoverOptions& options, double spent,
        bool as_stored = false)
      : result_(result),
        data_(*journey.data),
        found_(journey.found),
        fit_(journey.found.fit),
        options_(options),
        control_(journey.control),
        relu_(options.rectifier.name == "relu"),
        as_stored_(as_stored),
        spent_(spent) {}

  void run(const SampleSource& given, const Route& route) {
    const bool exact = found_.outcome == SearchOutcome::kExact;
    time_ended_ = control_.out_of_time();
    complete_fit();
    const Network user = user_network(found_, data_);
    result_.network = options_.rectifier.multiplicative() && !as_stored_ ? canonical(user) : user;
    result_.signs_identifiable = fit_.signs.outcome == SignOutcome::kUnique;
    result_.training_relative_mse = fit_.relative_mse;
    HeldOutCheck held_out = check_held_out(
        [&](const Eigen::Ref<const RowMatrix>& x) {
          return relu_ ? evaluate(result_.network, x) : evaluate(result_.network, options_.rectifier, x);
        },
        *data_.held_out(), data_.moments().mean_y(), control_);
    result_.heldout_relative_mse = held_out.relative_mse;
    result_.heldout_mean_square = held_out.mean_square;
    if (fit_.noise_covariance.size() > 0)
      held_out.noise = fit_.noise_covariance.diagonal().cwiseQuotient(data_.coordinates().map.D.cwiseAbs2());
    if (!exact) estimate_errors(user);
    determine(bound_function_error(held_out));
    measure_activity();
    conclude(exact || found_.exact_only, held_out, given, route);
    result_.predicted = std::move(held_out.predicted);
    result_.observed = std::move(held_out.observed);
    const auto step = [this](const char* stage, double relative_mse) {
      result_.descent.push_back({stage, static_cast<int>(result_.descent.size()), relative_mse});
    };
    for (const double value : found_.start_descent) step("rounds on the residual", value);
    for (const FitDescent& at : fit_.descent) step(at.signed_form ? "signed" : "sign-free", at.relative_mse);
  }

 private:
  // A network that was found in the user's coordinates, as a fit in standardised ones: as far as there are
  // any.
  void complete_fit() {
    if (!found_.network) return;
    try {
      fit_.model = to_signed_form(data_.coordinates().from_user(*found_.network));
      if (relu_) fit_.model = unit_rows(std::move(fit_.model));
      standardised_ = true;
    } catch (const DataError&) {
      fit_.model = to_signed_form(*found_.network);
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
    EntryCheck training, unseen;
    UnitSupport support;
    if (as_exact) {
      const Rectifier* rectifier = relu_ ? nullptr : &options_.rectifier;
      Entries entries(data_, fit_, standardised_);
      training = entries.check(result_.network, rectifier, *data_.training(), false, control_);
      unseen = entries.check(result_.network, rectifier, *data_.held_out(), true, control_);
    } else {
      support = unit_support();
    }
    const Evidence evidence{fit_,
                            held_out,
                            result_.held_out,
                            data_.training()->rows(),
                            result_.identifiability,
                            data_.inspection(),
                            data_.precision(),
                            training,
                            unseen,
                            look,
                            support};
    std::string praise;
    if (as_exact) {
      praise = check_exact(evidence, checks);
    } else if (time_ended_ && (found_.outcome == SearchOutcome::kStuck || fit_.out_of_time)) {
      say_time_ended(checks);
    } else {
      praise = check_noisy(evidence, checks);
    }
    if (route.recheck != nullptr) route.recheck(result_.network, given, options_, checks);
    if (as_exact && options_.hidden && !checks.all_hold() && !found_.exact_only) look_for_fewer(checks);
    std::move(checks).conclude(result_, std::move(praise),
                               as_exact ? Status::kCertified : Status::kEstimated);
    if (result_.status == Status::kCertified) result_.precision = precision_words(evidence);
    if (result_.status == Status::kUncertified && result_.samples < result_.rows) {
      result_.reason += fmt::format("; {} of the {} rows repeat others and were left out",
                                    result_.rows - result_.samples, result_.rows);
    }
    if (stands(result_.status)) say_what_follows();
  }

  // Time ended the search: that says nothing about the data.
  void say_time_ended(Checks& checks) const {
    const double budget = options_.budget_seconds;
    checks.require(
        "search ended before its time did", spent_, budget, false,
        fmt::format("stopped after {:.3g} s with {} units{}; give --budget {:.0f}{}", spent_,
                    fit_.model.units(),
                    fit_.last_improvement > kStillFalls ? ", while the residual was still falling" : "",
                    std::max(1.0, std::ceil(5 * budget)), options_.hidden ? "" : " or --hidden"));
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

  void estimate_errors(const Network& user) {
    if (fit_.noise_covariance.size() == 0) return;
    const Vector scale = data_.coordinates().map.D.cwiseInverse();
    result_.noise_covariance = scale.asDiagonal() * fit_.noise_covariance * scale.asDiagonal();
    result_.noise_sd = std::sqrt(result_.noise_covariance.diagonal().mean());
    if (!has_weights() || result_.network.hidden() != user.hidden()) return;
    const ErrorEstimate estimate = curvature(unit_noise(fit_.noise_covariance).Q, data_.training());
    result_.standard_errors = errors_in_order(estimate.errors, user, result_.network);
    result_.max_standard_error = estimate.largest;
  }

  // How well noisy samples support every unit.
  [[nodiscard]] UnitSupport unit_support() const {
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
    const Network& errors = result_.standard_errors;
    for (Index j = 0; j < errors.hidden(); ++j) {
      const double output = result_.network.A().col(j).norm();
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
  void determine(double bound) {
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
    result_.identifiability = found;
  }

  // States the bound; returns that of networks of as many units, from which the weights are bounded.
  double bound_function_error(const HeldOutCheck& check) {
    if (found_.outcome == SearchOutcome::kNoise && found_.look && looks_like_noise(*found_.look)) {
      const auto p = static_cast<double>(
          free_parameters(result_.network.inputs(), result_.network.hidden(), result_.network.outputs()));
      const Eigen::SelfAdjointEigenSolver<Matrix> noise(result_.noise_covariance, Eigen::EigenvaluesOnly);
      result_.functional_error_bound = bound_fitted_noise(p, noise.eigenvalues().maxCoeff(),
                                                          found_.look->missed, data_.training()->rows());
      result_.bound_from =
          "the noise, the number of parameters and what tests of the residuals could have missed, if what is "
          "left is independent noise";
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
    const RowMatrix z =
        (block.x() * result_.network.W().transpose()).rowwise() + result_.network.b().transpose();
    result_.activity = (z.array() > 0).cast<double>().colwise().mean().transpose();
  }

  // What follows from a certificate, and from what no sample can show.
  void say_what_follows() {
    const Index k = result_.network.hidden();
    if (result_.status == Status::kEstimated) {
      result_.conclusion = fmt::format(
          "If the samples are those of a network of {} units plus independent noise, which nothing in them "
          "speaks against, then the noise has standard deviation {:.3g}, {}and this network is off by {:.2g} "
          "at most (root mean square, confidence {})",
          k, result_.noise_sd,
          result_.max_standard_error > 0
              ? fmt::format("every weight lies within two of its standard errors ({:.2g} at most) of the "
                            "stated one with confidence 0.95, ",
                            result_.max_standard_error)
              : "",
          std::sqrt(result_.functional_error_bound), result_.confidence);
      result_.assumed = {"the noise is independent of the inputs and from row to row, with one covariance",
                         "what is not noise is a network of this kind: a deviation much smaller than the "
                         "noise cannot be told "
                         "from it"};
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
  bool relu_ = true, as_stored_ = false;
  double spent_ = 0;          // seconds until the search ended
  bool time_ended_ = false;   // the budget was used up when the search ended
  bool standardised_ = true;  // is fit_.model in standardised coordinates?
};

// A stored network as a route would have brought it: what the rows say of it, measured again.
class FoundAgain {
 public:
  FoundAgain(const Network& network, const Claim& claim, const Rectifier& rectifier, Prepared& data,
             const Control& control)
      : network_(network), claim_(claim), rectifier_(rectifier), data_(data), control_(control) {}

  Found run() {
    found_.network = network_;
    found_.fit.structure = claim_.structure;
    if (claim_.exact_only) {
      as_exact_route();
      return std::move(found_);
    }
    Fit& fit = found_.fit;
    fit.model = to_signed_form(data_.coordinates().from_user(network_));
    if (rectifier_.name == "relu") fit.model = unit_rows(std::move(fit.model));
    if (rectifier_.name != "relu") fit.model.rectifier = std::make_shared<const Rectifier>(rectifier_);
    products_ = measure_again(fit, *data_.standard(), control_);
    const bool exact = claim_.status == Status::kCertified;
    fit.outcome = found_.outcome = exact ? SearchOutcome::kExact : SearchOutcome::kNoise;
    fit.signs.outcome = SignOutcome::kUnique;
    if (!exact) {
      found_.look = look_at_residual(fit.model, data_.standard(), control_);
      fit.structure = found_.look->units;
    }
    if (claim_.by_signs) as_noise_route();
    if (claim_.by_signs || fit.model.rectifier || fit.model.units() == 0 || !fit.model.plain)
      return std::move(found_);
    if (exact) {
      fit.signs.outcome = decide_signs(sign_free(fit.model), {}).outcome;
    } else {
      fit_again();
    }
    return std::move(found_);
  }

  [[nodiscard]] std::optional<double> gained() const { return gained_; }

 private:
  [[nodiscard]] SampleBlock training_block() {
    SampleBlock block;
    rows_ = load(*data_.training());
    rows_->read(0, rows_->rows(), block);
    return block;
  }

  void as_exact_route() {
    const SampleBlock block = training_block();
    found_.exact_only = true;
    found_.outcome = SearchOutcome::kExact;
    found_.fit.signs.outcome = SignOutcome::kUnique;
    found_.fit.relative_mse = relative_error(network_, rectifier_, block.x(), block.y());
    found_.checks.require("training rows reproduced to rounding", found_.fit.relative_mse, kReproduced,
                          found_.fit.relative_mse <= kReproduced, "the training rows are not reproduced");
  }

  void as_noise_route() {
    Fit& fit = found_.fit;
    const SampleBlock block = training_block();
    fit.relative_mse = relative_error(network_, rectifier_, block.x(), block.y());
    fit.noise_covariance = Matrix(fit.noise_covariance.diagonal().asDiagonal());
  }

  // a max(z, 0) = a/2 |z| + a/2 z.
  static Form sign_free(const Form& model) {
    const Index k = model.units(), d = model.inputs;
    Form out = one_layer(model.V[0]);
    out.C.resize(out.features(), model.C.cols());
    out.C.topRows(k) = model.C.topRows(k) / 2;
    out.C.bottomRows(d + 1) = model.V[0].transpose() * out.C.topRows(k);
    out.C.bottomRows(1) += model.C.bottomRows(1);
    return out;
  }

  // Whether noise leaves the signs open, and whether this is the best network nearby, only a fit from its
  // units tells.
  void fit_again() {
    FitOptions options;
    options.hidden = found_.fit.model.units();
    options.seed = claim_.seed;
    options.most_restarts = 0;
    options.rounding = data_.rounding();
    const Fit again =
        fit_units(found_.fit.model.V[0], data_.standard(), options, control_.within(claim_.budget_seconds));
    if (again.out_of_time || again.model.plain != found_.fit.model.plain) {
      if (!again.out_of_time) found_.fit.signs = again.signs;
      return;
    }
    found_.fit.signs = again.signs;
    const Matrix left = residual_products(again.model, *data_.standard(), kBlockRows, control_);
    const Matrix Q = unit_noise(again.noise_covariance).Q;
    gained_ = (Q * (products_ - left) * Q.transpose()).trace();
  }

  const Network& network_;
  const Claim& claim_;
  const Rectifier& rectifier_;
  Prepared& data_;
  const Control& control_;
  Found found_;
  SamplePtr rows_;  // in memory
  Matrix products_;
  std::optional<double> gained_;
};

const Route& stated_route(const std::string& name) {
  for (const Route& route : routes()) {
    if (route.finds == Finds::kNetwork && (name == route.name || name == route.group)) return route;
  }
  throw DataError(fmt::format("the certificate names the route '{}', which does not exist", name));
}

HoldOut stated_rule(Index period, Index rows, HoldOut first) {
  for (const HoldOut rule : {first, HoldOut::kFitted, HoldOut::kExact}) {
    if (held_out_period(rule, rows) == period) return rule;
  }
  throw DataError(fmt::format("its split holds out one in {} of {} rows, which no route does", period, rows));
}

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
  plan.looks_final = is_final;
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
    double spent = 0;
    for (const StageTime& stage : clock.laps()) spent += stage.seconds;
    Judge(result, journey, options, spent).run(*samples, *journey.route);
    clock.lap("check");
  }
  result.timings = clock.laps();
  return result;
}

Judged judge_again(const Network& network, const SamplePtr& samples, const Claim& claim,
                   const Control& control) {
  const SingleThreadedBlas single;
  RecoverOptions options;
  options.seed = claim.seed;
  options.rectifier = parse_rectifier(claim.activation);
  const Route& route = stated_route(claim.route);
  Judged judged;
  RecoverResult& result = judged.result;
  result.activation = claim.activation;
  result.route = claim.route;
  Journey journey;
  journey.route = &route;
  journey.name = claim.route;
  journey.control = control;
  Found repaired;
  SamplePtr rows = samples;
  if (route.repair != nullptr) {
    rows = route.repair(samples, options, repaired, control);
    if (!rows) throw DataError("the route refuses these samples: " + repaired.refusal);
  }
  const HoldOut rule =
      route.repair != nullptr ? route.hold_out : stated_rule(claim.period, claim.samples, route.hold_out);
  journey.data = std::make_unique<Prepared>(rows, rule, claim.seed, result, control);
  if (route.repair != nullptr) result.held_out_period = 0;
  FoundAgain again(network, claim, options.rectifier, *journey.data, control);
  journey.found = again.run();
  journey.found.support = repaired.support;
  result.support = std::move(repaired.support);
  judged.gained = again.gained();
  Judge(result, journey, options, 0, true).run(*samples, route);
  return judged;
}

}  // namespace exhume
