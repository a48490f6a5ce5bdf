#include "certify/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/counted.h"
#include "base/limits.h"
#include "data/reduce.h"

namespace exhume {
namespace {

constexpr double kDetermined = 1e-6;    // least singular value, in units of the outputs' spread
constexpr double kGrossKurtosis = 50;   // of residuals that a few rows dominate
constexpr double kMostDelta = 0.1;      // of weights that rounded outputs leave open, rows of W having norm 1
constexpr double kMostUnitError = 0.3;  // of a unit's direction; beyond, standard errors mean nothing
// Rows on either side of a kink, at least: 100, or an eighth of fewer than 800 rows. What lies beyond it is
// hardly seen otherwise.
constexpr double kLeastBeside = 100, kShareBeside = 0.125;
constexpr double kRowsForParameter =
    5;  // rows on either side of a kink, for each of the unit's d + m numbers
constexpr Index kPictureRows = 500;
const double kLogOdds = -std::log(1 - kConfidence);

std::string units_in_words(Index units) { return counted(units, "hidden unit"); }

}  // namespace

HeldOutCheck check_held_out(const Predict& predict, const SampleSource& rows, const Vector& output_mean,
                            const Control& control) {
  HeldOutCheck check;
  const Index n = rows.rows(), m = rows.outputs();
  const Index shown = std::min(n, kPictureRows);
  check.predicted.resize(shown, m);
  check.observed.resize(shown, m);
  struct Sums {
    double squares = 0, fourth = 0, variation = 0, outputs = 0, largest = 0;
    void merge(const Sums& other) {
      squares += other.squares;
      fourth += other.fourth;
      variation += other.variation;
      outputs += other.outputs;
      largest = std::max(largest, other.largest);
    }
  };
  const Sums sums = reduce_blocks(rows, Sums{}, control, "", [&](Sums& to, const SampleBlock& block) {
    const Vector error = (predict(block.x()) - block.y()).rowwise().squaredNorm();
    to = {error.sum(), error.squaredNorm(), (block.y().rowwise() - output_mean.transpose()).squaredNorm(),
          block.y().squaredNorm(), error.maxCoeff()};
  });
  if (shown > 0) {
    const RowRun first{0, shown};
    const SamplePtr picture = gathered(rows, {&first, 1});
    SampleBlock block;
    picture->read(0, shown, block);
    check.observed = block.y();
    check.predicted = predict(block.x());
  }
  const double count = static_cast<double>(std::max<Index>(n, 1));
  check.relative_mse = sums.variation > 0 ? sums.squares / sums.variation : 0;
  check.mean_square = sums.squares / count;
  check.output_square = sums.outputs / count;
  check.largest = sums.largest;
  check.spread =
      std::sqrt(std::max(0.0, sums.fourth / count - check.mean_square * check.mean_square) / count);
  return check;
}

double bound_mean_square(const HeldOutCheck& check, Index rows) {
  const double n = static_cast<double>(std::max<Index>(rows, 1));
  return check.mean_square + confidence_deviations() * check.spread + check.largest * unseen_share(n);
}

double bound_fitted_noise(double parameters, double variance, double missed, Index rows) {
  const double chi = parameters + 2 * std::sqrt(parameters * kLogOdds) + 2 * kLogOdds;
  return variance * (chi + missed) / static_cast<double>(std::max<Index>(rows, 1));
}

std::string precision_words(const Evidence& evidence) {
  const EntryCheck& entries = evidence.held_out_entries;
  if (!entries.rounded && !evidence.training_entries.rounded)
    return double_precision_words(std::max(entries.share, evidence.training_entries.share));
  return fmt::format("{}, {:.0e}", evidence.stored.words(), std::sqrt(evidence.held_out.relative_mse));
}

std::string check_exact(const Evidence& evidence, Checks& checks) {
  const Fit& fit = evidence.fit;
  const EntryCheck &training = evidence.training_entries, &held_out = evidence.held_out_entries;
  const auto& weights = evidence.weights;
  const bool rounded = training.rounded || held_out.rounded;
  const std::string to = rounded ? "to " + precision_words(evidence) : "to rounding";
  const auto off = [](const EntryCheck& check) {
    return fmt::format("an output of {:.3g} is off by {:.2g}", check.value, check.gap);
  };
  checks.require("every training entry reproduced to its stored precision", training.worst, 1,
                 training.reproduced(),
                 fmt::format("the fit is exact on the rows that it saw but not on all training rows: {}",
                             off(training)));
  checks.require(
      "rows held out", static_cast<double>(evidence.held_out_rows), 1, evidence.held_out_rows >= 1,
      fmt::format("a network of {} reproduces all {} samples {}, but so few rows leave none to hold "
                  "out: another network may do so too",
                  units_in_words(fit.model.units()), evidence.training_rows, to));
  checks.require(
      "every held-out entry reproduced to its stored precision", held_out.worst, 1, held_out.reproduced(),
      fmt::format("the fit is exact on the training rows but not on the held-out ones ({}): too few "
                  "samples for so many units, or a unit that acts on held-out rows only",
                  off(held_out)));
  if (training.computed_in_single || held_out.computed_in_single) {
    checks.require("no structure left in the rounding errors", fit.structure, 1, fit.structure < 1,
                   "the outputs look like those of a network evaluated in single precision, but the "
                   "residuals have structure: a weak unit may be missing");
  }
  checks.require("no linear term needed", fit.model.plain ? 0 : 1, 0, fit.model.plain,
                 fmt::format("the samples are reproduced {}, but part of the function is linear on all of "
                             "them: units that never switch there (large bias) or a direct linear path; "
                             "these weights, and the signs of the other units, are not identifiable",
                             to));
  checks.require("signs of the units unique", fit.signs.outcome == SignOutcome::kUnique ? 0 : 1, 0,
                 fit.signs.outcome == SignOutcome::kUnique || !fit.model.plain,
                 fmt::format("the samples are reproduced {}, but several choices of the units' signs do so: "
                             "this network is one of them",
                             to));
  if (weights) {
    const std::string others = fmt::format(
        "the samples are reproduced {}, but other weights do so too: no sample lies between the hyperplanes "
        "of two nearly equal units, or a unit hardly switches within the samples",
        to);
    checks.require("weights determined by the function: smallest singular value", weights->smallest_singular,
                   kDetermined, weights->smallest_singular >= kDetermined, others);
    if (rounded) {
      checks.require("weights determined at the stored precision", weights->delta, kMostDelta,
                     weights->delta <= kMostDelta, others);
    }
  }
  return fmt::format("a network of {} reproduces all {} samples {}, {} of them held out",
                     units_in_words(fit.model.units()), evidence.training_rows + evidence.held_out_rows, to,
                     evidence.held_out_rows);
}

void check_residual(const ResidualLook& look, Checks& checks) {
  checks.require(
      "residuals of similar rows unrelated", look.neighbours, look.neighbours_limit,
      look.neighbours <= look.neighbours_limit,
      look.kurtosis > kGrossKurtosis
          ? fmt::format("a few residuals are very large (kurtosis {:.3g}) and rows with similar inputs have "
                        "similar ones (Z = {:.1f}): gross outliers in the outputs, or another kind of "
                        "function",
                        look.kurtosis, look.neighbours)
          : fmt::format("rows with similar inputs have similar residuals (Z = {:.1f}): the residual is not "
                        "noise but another kind of function, or more units than were found",
                        look.neighbours));
  checks.require("residuals unrelated along every unit", look.sorted, look.sorted_limit,
                 look.sorted <= look.sorted_limit,
                 fmt::format("sorted along a unit or an input, neighbouring residuals are related (Z = "
                             "{:.1f}): the residual is a smooth function, not noise",
                             look.sorted));
  checks.require(
      "residuals unrelated in the order of the rows", look.order, 1, look.order <= 1,
      fmt::format(
          "rows that follow each other have related residuals (correlation {:.2f} between neighbours, "
          "{}): the noise drifts in the order of the rows; standard errors and bounds would be too "
          "small",
          look.correlation,
          look.apart < 64 ? fmt::format("none is left between rows {} apart", look.apart)
                          : "some is left even between rows 64 apart"));
  checks.require(
      "no jump along an input, a unit or the outputs", look.jumps, look.jumps_limit,
      look.jumps <= look.jumps_limit,
      fmt::format("the residual jumps somewhere along an input, a unit or the fitted outputs (|z| "
                  "= {:.1f}), as no unit of this kind does; units that switch near it would be wrong",
                  look.jumps));
  checks.require("residual unrelated to polynomials of the inputs", look.polynomials, look.polynomials_limit,
                 look.polynomials <= look.polynomials_limit,
                 fmt::format("the residual depends on the inputs (|t| = {:.1f} against a polynomial): the "
                             "data come from more units or from another kind of function",
                             look.polynomials));
  checks.require("residual of mean zero everywhere along units, inputs and outputs", look.bins, 1,
                 look.bins <= 1,
                 "along a unit, an input or the fitted outputs the residuals are not centred: clipped "
                 "outputs, or another kind of function");
  checks.require("residual without heavy tails: kurtosis", look.kurtosis, kMostKurtosis,
                 look.kurtosis <= kMostKurtosis,
                 fmt::format("the residual is heavy-tailed (kurtosis {:.3g}): heavy-tailed noise, outliers "
                             "in the outputs, or a missing unit that is seldom active",
                             look.kurtosis));
  checks.require("noise of one size everywhere", look.spread, 1, look.spread <= 1,
                 "the residuals are larger at some inputs than at others: the noise depends on the inputs, "
                 "or the inputs are noisy themselves; the bound would be wrong");
}

std::string check_noisy(const Evidence& evidence, Checks& checks) {
  const Fit& fit = evidence.fit;
  const ResidualLook& look = evidence.look;
  const UnitSupport& support = evidence.support;
  const HeldOutCheck& held_out = evidence.held_out;
  const Index d = fit.model.inputs, m = fit.model.C.cols(), k = fit.model.units();
  checks.require(
      "samples for every unknown", fit.rows_per_unknown, kReliable, fit.rows_per_unknown >= kReliable,
      fmt::format(
          "{:.1f} equations for every unknown are too few to tell noise from missing units: give more rows",
          fit.rows_per_unknown));
  checks.require("outputs are not whole numbers", evidence.data.integer_outputs ? 1 : 0, 0,
                 !evidence.data.integer_outputs,
                 "every output is a whole number: rounded values or class labels, not a network plus noise");
  check_residual(look, checks);
  checks.require("at least one hidden unit", static_cast<double>(k), 1, k >= 1,
                 "no hidden unit stands out: the outputs are linear in the inputs, or unrelated to them");
  checks.require(
      "no structure left in the residual", std::max(fit.structure, look.units), 1,
      fit.outcome == SearchOutcome::kNoise && look.units <= 1,
      fit.stalled
          ? fmt::format(
                "the search stalled: with {} the network leaves {:.2g} of the variance with structure "
                "in it, and neither more units nor new starts lower it much; the data come from another kind "
                "of function, or from far more units",
                counted(k, "unit"), fit.relative_mse)
          : fmt::format(
                "the best network found ({}) leaves {:.2g} of the variance with structure in it: the data "
                "come from more units or from another kind of function, or there are too few rows",
                counted(k, "unit"), fit.relative_mse));
  // Mean squares, not relative to the outputs' variance: that of few rows is itself uncertain. The error of
  // mean |e|^2 with variances v_o of the outputs is sum v_o^2 (kurtosis - 1) / rows at most, or as much as
  // the square of their sum where noise is shared.
  const double expected = std::max(held_out.noise.sum(), kTiny);
  const double ratio = held_out.mean_square / expected;
  const double spread = 1 + 5 * std::sqrt(std::max(look.kurtosis - 1, 2.0) /
                                          static_cast<double>(std::max<Index>(evidence.held_out_rows, 1)));
  const double unknowns = static_cast<double>(free_parameters(d, k, m));
  const double optimism = 1 + unknowns / static_cast<double>(evidence.training_rows * m);  // of new rows
  checks.require(
      "held-out error as large as the noise", ratio, spread * optimism, ratio <= spread * optimism,
      fmt::format(
          "the mean squared error on held-out rows is {:.2f} times that on the training rows: overfitted",
          ratio));
  checks.require("no linear term needed", fit.model.plain ? 0 : 1, 0, fit.model.plain,
                 "a linear term is needed beside the units: units that never switch within the samples, or a "
                 "direct linear path; the signs of the units are not identifiable");
  checks.require(
      "signs of the units significant", fit.signs.outcome == SignOutcome::kUnique ? 0 : 1, 0,
      fit.signs.outcome == SignOutcome::kUnique || !fit.model.plain,
      "several choices of the units' signs fit the noisy samples equally well: this network is one "
      "of them");
  if (k == 0) return "";
  checks.require(
      "every unit needed: worth over its price", support.worth, 1, support.worth >= 1,
      fmt::format("{} explains no more than noise does: leave the number of units open, or ask for fewer",
                  k == 1 ? "the unit" : fmt::format("one of the {} units", k)));
  const double least =
      std::max(std::min(kLeastBeside, kShareBeside * static_cast<double>(evidence.training_rows)),
               kRowsForParameter * static_cast<double>(d + m));
  checks.require(
      "rows on either side of every unit's kink", support.rows, least, support.rows >= least,
      fmt::format("a unit switches at the edge of the samples, with {:.0f} rows on one side: too few "
                  "for its weights; give more rows",
                  support.rows));
  checks.require(
      "weights determined at the size of the noise: largest error of a unit", support.error, kMostUnitError,
      support.error <= kMostUnitError,
      fmt::format("the noise leaves a unit's weights uncertain (standard error {:.2g} of its size): give "
                  "more rows",
                  support.error));
  return fmt::format(
      "what a network of {} leaves unexplained in {} samples ({:.2g} of the variance) passes every test "
      "for independent noise",
      units_in_words(k), evidence.training_rows + evidence.held_out_rows, fit.relative_mse);
}

}  // namespace exhume
