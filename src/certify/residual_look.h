// What a fit leaves of noisy data: does it look like noise?
//
// Residuals r of all rows that the fit used (the bounds use them all, so these tests must), mixed so that
// those of different outputs are uncorrelated with variance 1. Outputs that are reproduced to rounding have
// none.
//
//   units         no unit |w.x + b| beside those of the model explains more than chance (fit/unit_search.h)
//   polynomials   r is uncorrelated with every Hermite polynomial of degree 2 and 3 of standardised inputs:
//                     t = sum r h(x) / (sum r^2 h(x)^2)^(1/2)       standard normal for noise, the largest of
//                 all of them; above 2e9 terms only h(x_a), h(x_a, x_b) and h(x_a, x_a, x_b)
//   bins          rows sorted into up to 256 bins along every unit, every input, the fitted outputs and |x|:
//                     sum over bins of (sum r)^2 / sum r^2          chi-squared, one degree of freedom each,
//                 also with 8 and 64 of them joined: clipped outputs and smooth functions that many units
//                 approximate show here
//                 8 x 8 bins along every pair of inputs and units show functions of two directions, as far as
//                 1e9 entries go
//   spread        the variance of r is the same in all bins: noise in the inputs, or noise that grows with
//                 the signal, shows here
//   neighbours    rows with similar inputs have unrelated residuals: for a Gaussian kernel K,
//                     Z = sum_{i != j} K(x_i, x_j) r_i r_j / sqrt(2 sum K^2 r_i^2 r_j^2)
//                 is standard normal for noise and grows with n for any function of x (Zheng, 1996); three
//                 bandwidths, 4,096 rows
//   along units   sorted along any unit or input, the first four autocorrelations of r vanish (after von
//                 Neumann); 40,960 rows
//   tails         kurtosis of r at most 6: outliers and units that are seldom active show here
//   order         the same bins along the order of the rows, and the products r_i r_{i+l}, l = 1 ... 4: noise
//                 that wanders with time shows here, whatever the inputs are (certify/ordered_residuals.h)
//   jumps         r is uncorrelated with every step 1[u(x) > t] along inputs, units and fitted outputs, less
//                 what the fit takes up of it (certify/jumps.h)
//
// The limits let noise fail one of them with probability kResidualFalseAlarm, all tests together. Some are
// made a second time with limits that noise passes but once in a hundred (kIntervalFalseAlarm): `doubt` is
// the largest of those over its limit. Verdicts do not depend on it, intervals do.
//
// What they may miss. A deviation g of f from the fitted network shows in a test with function h of unit
// variance as t = (n E r^2)^(-1/2) n E g h, so one of energy E g^2 > L sigma^2 / n, a twelfth of it along
// some h, is seen with confidence 0.999 for L = 12 (z + 3.3)^2, z the limit of |t|. `missed` is that L:
// bounds on E|f - fhat|^2 allow for it. What a deviation does where no sample lies, nobody can bound.
#pragma once

#include <string>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/form.h"

namespace exhume {

struct ResidualLook {
  double kurtosis = 3;  // largest over the outputs
  double units = 0;     // best candidate's score over its chance level
  double polynomials = 0, polynomials_limit = 1;
  double bins = 0, spread = 0;                  // over their limits
  double neighbours = 0, neighbours_limit = 1;  // Z
  double sorted = 0, sorted_limit = 1;
  double missed = 0;       // L
  double order = 0;        // over its limit
  double correlation = 0;  // of neighbouring rows, the largest over the outputs
  Index apart = 1;         // rows that lie so far apart have residuals that hardly know of each other
  double jumps = 0, jumps_limit = 1;
  double unit_level = 0;  // what the best candidate unit may score by chance
  double doubt = 0;       // above 1 no intervals are stated,
  std::string doubtful;   // because of this, in words
};

// `model` in standardised coordinates, signed or not, at the optimum on `standard`. columns: d x d, x columns
// are the user's inputs, each up to shift and scale; without it standardised ones are looked along.
[[nodiscard]] ResidualLook look_at_residual(const Form& model, const SamplePtr& standard,
                                            const Control& control, const Matrix& columns = {});

// The largest of its tests over its limit, and whether all of them passed.
[[nodiscard]] double structure_left(const ResidualLook& look);
[[nodiscard]] bool looks_like_noise(const ResidualLook& look);

inline constexpr double kMostKurtosis = 6;

// The largest Z over bandwidths with about 4, 16 and 64 neighbours per row, on at most 4,096 rows.
[[nodiscard]] double neighbour_statistic(const Matrix& x, const Matrix& residuals,
                                         const Control& control = {});

// The largest autocorrelation statistic of the residuals sorted along any column of `along` (rows x
// directions), in standard deviations.
[[nodiscard]] double sorted_statistic(const Matrix& along, const Matrix& residuals);

}  // namespace exhume
