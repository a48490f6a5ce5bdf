// What a recovered network is worth, from the residuals alone.
//
// Noiseless data. The network reproduces the training rows and the held-out rows to rounding, no linear term
// was needed, the signs are unique and the Jacobian has full rank. Then the samples are those of this
// network, and any network of at most k units that agrees with it on the input distribution has these weights
// up to order and scale.
//
// Noisy data. What the network leaves must look like noise:
//   structure      no candidate unit explains more than chance (fit/unit_search.h)
//   polynomials    the residual's own second-order moments are no larger than their sampling noise, as the
//                  difference between even and odd rows has it
//   neighbours     rows with similar inputs have unrelated residuals: for residuals r, a Gaussian kernel K,
//                      Z = sum_{i != j} K(x_i, x_j) r_i r_j / sqrt(2 sum K^2 r_i^2 r_j^2)
//                  is standard normal for noise and grows with n for any function of x (Zheng, 1996);
//                  three bandwidths
//   along units    sorted along any unit's direction or any input, neighbouring residuals are unrelated:
//                  the sum of their first four autocorrelations is normal with variance 4/n (after von
//                  Neumann); a smooth function that many units approximate shows here
//   tails          kurtosis of the residual at most 6: outliers and units that are seldom active show here
//   held-out       the mean squared error on held-out rows is the noise of the training rows, within its
//                  sampling spread
//
// No finite sample identifies a network among all networks: a certificate assumes at most k units and the
// input distribution of the samples, and says so.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "exhume/base/limits.h"
#include "exhume/certify/certificate.h"
#include "exhume/certify/inspect.h"
#include "exhume/fit/fit.h"

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
                                          const Vector& output_mean);

// A bound on the expected squared error of which `check` saw a sample, at confidence 0.999: mean, 3.29
// standard errors, and the largest value times log(1000) / rows for what is too seldom to show in the other
// two.
[[nodiscard]] double bound_mean_square(const HeldOutCheck& check, Index rows);

// A bound on E|f - fhat|^2 at confidence 0.999 for a least-squares fit of p parameters to n rows with noise
// of variance sigma^2: sigma^2 chi^2_p / n, with Laurent and Massart's bound on the tail of chi^2_p.
[[nodiscard]] double bound_fitted_noise(double parameters, double variance, Index rows);

// What the residual of a fit looks like, standardised coordinates.
struct ResidualLook {
  double kurtosis = 3;    // largest over the outputs
  double polynomial = 1;  // |T|^2 / |D|^2 of second-order moments
  double polynomial_limit = 1;
  double neighbours = 0;  // Z
  double sorted = 0, sorted_limit = 1;
};
[[nodiscard]] ResidualLook look_at_residual(const SeparableModel& model, const SamplePtr& standard,
                                            const Control& control);

// All of its checks passed?
[[nodiscard]] bool looks_like_noise(const ResidualLook& look);

// The largest Z over bandwidths with about 4, 16 and 64 neighbours a row, on at most 4,096 rows. Pure noise
// exceeds 4.5 with probability about 1e-5.
[[nodiscard]] double neighbour_statistic(const Matrix& x, const Matrix& residuals);

// The largest autocorrelation statistic of the residuals sorted along any column of `along` (rows x
// directions), in standard deviations.
[[nodiscard]] double sorted_statistic(const Matrix& along, const Matrix& residuals);

// How far the weights are determined by the function, to first order: a network of as many units near this
// one that differs from it by epsilon (root of E|f - f'|^2 over the samples' inputs) has weights within delta
// of these, because
//
//     |theta_p| <= epsilon sqrt(n [(J^T J)^-1]_pp)      for every parameter p (Cauchy-Schwarz),
//
// J the Jacobian in canonical coordinates (unit rows of W).
struct Identifiability {
  double smallest_singular = 0;  // of J's directions of W and b, over sqrt(rows) and the outputs' spread
  double epsilon = 0;            // root of the bound on E|f - fhat|^2
  double delta = 0;
};

// What is known of a network when it is judged.
struct Evidence {
  const Fit& fit;  // standardised coordinates
  const HeldOutCheck& held_out;
  Index held_out_rows = 0, training_rows = 0;
  const std::optional<Identifiability>& weights;
  const ResidualLook& look;  // of a fit that is not exact
  const Inspection& data;
};
// Adds the checks of exact data, or of noisy data, to `checks`; returns the reason where all of them hold.
[[nodiscard]] std::string check_exact(const Evidence& evidence, Checks& checks);
[[nodiscard]] std::string check_noisy(const Evidence& evidence, Checks& checks);

}  // namespace exhume
