// What a recovered network is worth, from the residuals alone.
//
// Certified. The network reproduces every entry of the training rows and of the held-out rows to its stored
// precision (certify/entry_check.h), no linear term was needed, the signs are unique and the Jacobian has
// full rank. Then the samples are those of this network, and any network of at most k units that agrees with
// it on the input distribution has these weights up to order and scale, to that precision.
//
// Estimated. Without replicates nobody can tell a small deviation of f from noise, so with noise every
// statement is conditional: no test of the residuals contradicts a network of k units plus independent
// noise (certify/residual_look.h), held-out rows leave as much as training rows do, signs and weights are
// determined at the size of the noise, and every unit is needed. Intervals and bounds hold if that is so.
//
// No finite sample identifies a network among all networks: a certificate assumes at most k units and the
// input distribution of the samples, and says so.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/limits.h"
#include "certify/entry_check.h"
#include "certify/inspect.h"
#include "certify/residual_look.h"
#include "exhume/result.h"
#include "fit/fit.h"

namespace exhume {

// How the network does on rows that were never used for fitting, in the user's coordinates.
struct HeldOutCheck {
  double relative_mse = 0;
  double mean_square = 0;         // summed over outputs, mean over rows
  double spread = 0;              // standard error of mean_square
  double output_square = 0;       // mean square of the outputs themselves, summed over them
  double largest = 0;             // squared error of the worst row
  Vector noise;                   // variance of every output's noise as the training rows have it; m
  RowMatrix predicted, observed;  // at most 500 rows
};
// The network's outputs at every row of x, rows x m.
using Predict = std::function<RowMatrix(const Eigen::Ref<const RowMatrix>& x)>;
[[nodiscard]] HeldOutCheck check_held_out(const Predict& predict, const SampleSource& rows,
                                          const Vector& output_mean, const Control& control);

// A bound on the expected squared error of which `check` saw a sample, at confidence 0.999: mean, 3.29
// standard errors, and the largest value times log(1000) / rows for what is too seldom to show in the other
// two.
[[nodiscard]] double bound_mean_square(const HeldOutCheck& check, Index rows);

// A bound on E|f - fhat|^2 at confidence 0.999 for a least-squares fit of p parameters to n rows:
//
//     variance (chi^2_p + missed) / n
//
// with Laurent and Massart's bound on the tail of chi^2_p. variance: of the noise, its largest in any mixture
// of outputs; missed: the energy that a deviation from the network may have unseen (certify/residual_look.h).
[[nodiscard]] double bound_fitted_noise(double parameters, double variance, double missed, Index rows);

// How well every unit is supported by noisy samples.
struct UnitSupport {
  double worth = 0;  // least: what the fit loses without a unit, over the price of its parameters
  double error = 0;  // largest standard error of a unit's direction, or of its output weights' norm as a
                     // share of it; 0 where they were not computed
  double rows = 0;   // least number of rows on either side of a unit's kink
};

// What is known of a network when it is judged.
struct Evidence {
  const Fit& fit;  // standardised coordinates
  const HeldOutCheck& held_out;
  Index held_out_rows = 0, training_rows = 0;
  const std::optional<Identifiability>& weights;
  const Inspection& data;
  const StoredPrecision& stored;
  const EntryCheck& training_entries;  // of a fit that is exact
  const EntryCheck& held_out_entries;
  const ResidualLook& look;  // of one that is not
  const UnitSupport& support;
};
// Adds the checks of exact data, or of noisy data, to `checks`; returns the reason where all of them hold.
[[nodiscard]] std::string check_exact(const Evidence& evidence, Checks& checks);
[[nodiscard]] std::string check_noisy(const Evidence& evidence, Checks& checks);

// Those of noisy data that look at what is left of it alone, whatever was fitted.
void check_residual(const ResidualLook& look, Checks& checks);

// To what the samples are reproduced: "double precision", "single precision, 2e-08", "6 decimals, 3e-07": the
// root of the share of the outputs' variance that the held-out rows leave.
[[nodiscard]] std::string precision_words(const Evidence& evidence);

}  // namespace exhume
