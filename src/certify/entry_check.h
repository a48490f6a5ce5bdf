// Are the outputs reproduced, entry by entry? Never against one variance: one huge row must not excuse the
// others.
//
//     |y_io - f_o(x_i)| <= h(y_io) + e_io          for every row i and output o
//
// h is half a unit of the stored precision (certify/stored_precision.h), a whole unit for rows that the fit
// did not see, since the others leave it no less uncertain than that. e is what computing in doubles may
// cost, with the sizes of the terms that the evaluation of f adds up,
//
//     S_io = sum_j |A_oj| (sum_a |W_ja| |x_ia| + |b_j|) + |c_o|
//
//     e_io = 1e-10 min(S_io, S'_io) + 8 2^-53 S_io       S' in standardised coordinates, in which was fitted
//
// S is what the network says of itself: two units of 1e13 that cancel would excuse anything. So no S counts
// for more than ten thousand times what the data make natural, for inputs of mean mu and covariance
// (P^T P)^-1 and outputs of standard deviation s_o,
//
//     N_io = s_o (| |P| (|x_i| + |mu|) | + 1) + |y_io|
//
// the size of the terms of one unit that makes all of the outputs' variation. Measured: S is below 10 N with
// one hidden layer, 400 N with two, 5,000 N with three of 200 units; with six it overstates rounding a
// thousandfold (1e8 N), and what is left to them, 1e-6 N, is far more than they need.
//
// and, for outputs that were rounded, what the rounding of the others does to the fit: six standard errors of
// f_o(x_i) (fit/standard_errors.h). Outputs that were not only stored but computed in single precision are
// further off; there
//
//     e_io = (d + k + 4) 2^-24 S_io,   root mean square of y - f at most 2^-24 (d + k + 4)^(1/2) that of S:
//
// the first bounds every evaluation in that precision, in whatever order it adds; the second what such errors
// make together, being of either sign.
#pragma once

#include <functional>
#include <string>

#include "certify/stored_precision.h"
#include "exhume/activation.h"
#include "exhume/network.h"
#include "moments/standardise.h"

namespace exhume {

struct EntryCheck {
  double worst = 0;  // |y - f| over what is allowed is nowhere larger; at most 1 where all are reproduced
  Index row = 0, output = 0;        // where
  double gap = 0, value = 0;        // |y - f| and y there
  bool computed_in_single = false;  // only as a network evaluated in single precision
  bool rounded = false;             // only to the stored precision, which is coarser than double
  double share = 0;                 // |y - f| / N is nowhere larger: how far the entries were checked

  [[nodiscard]] bool reproduced() const { return worst <= 1; }
};

// Standard deviations of the fitted outputs at rows of x that come from rounding alone, rows x m; empty:
// none.
using FitErrors = std::function<Matrix(const Eigen::Ref<const RowMatrix>& x)>;

// What is checked: f, and the sizes S and S' of the terms that it adds up, at rows of x.
struct EntryModel {
  using Values = std::function<RowMatrix(const Eigen::Ref<const RowMatrix>& x)>;
  Values values, sizes;
  Values standard_sizes;  // empty: the fit was not made in standardised coordinates
  Values natural;  // N less |y|, where coordinates are known; empty: from medians over some of the rows
  // Per output: what S, S' and N are at least, whatever the row; where coordinates are known, otherwise
  // empty.
  Eigen::RowVectorXd least_sizes, least_standard, least_natural;
  double terms = 0;  // d + k_1 + ... + k_D + 4 D: how many roundings an output goes through

  // `coordinates`: where the fit was made, if it was made in standardised ones. `rectifier`: of the units,
  // where they are not ReLUs.
  EntryModel(const Network& network, const Rectifier* rectifier, const Standardisation* coordinates);
};

// The best that can be said of the network on `rows`: reproduced to double precision, to the stored one, or
// as computed in single precision; otherwise how far the worst entry is from the stored precision. `unseen`:
// rows that were not fitted.
[[nodiscard]] EntryCheck check_entries(const EntryModel& model, const SampleSource& rows,
                                       const StoredPrecision& stored, bool unseen,
                                       const FitErrors& fit_errors, const Control& control);

// Of outputs that are not rounded: "double precision", or, where less was checked, "3e-11 of the outputs".
[[nodiscard]] std::string double_precision_words(double share);
[[nodiscard]] bool is_double_precision(const std::string& words);

}  // namespace exhume
