// From rough units to a finished network: search, signs, signed finish.
//
//   search_units (sign-free, on a subset that is large enough)
//     -> signs from the linear term, confirmed by the sum of squares
//     -> signed polish: without noise, on the subset, to the last digit;
//                       with noise, on all rows, with outputs mixed so that their noise is independent with
//                       one variance, which makes it the maximum-likelihood fit
//
// Signs under noise. Units whose a_j w_j^T depend on each other may be turned together without leaving a
// trace (three with sum a_j w_j = 0; a parallel pair). Dependence is judged at the noise of these matrices,
// all choices that it leaves open are tried, and signs count as told only where every other choice fits
// significantly worse on all rows.
//
// Every route ends here, whatever its start. All in standardised coordinates (standardise.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/polish.h"
#include "fit/signs.h"
#include "fit/unit_search.h"

namespace exhume {

// Outputs that were rounded when they were stored leave a mean square even where the network is right.
struct RoundingNoise {
  double mean_square = 0;  // of the rounding errors, standardised units, mean over rows and outputs
  double deviation = 0;    // standard deviation of one squared error, over mean_square
  // Mean square that may be left where outputs were computed, not only stored, in that precision; 0: they
  // were not. Such errors are no noise: units that explain some of them can always be found.
  double computed = 0;

  // The mean square of n such errors is no larger than this but once in 1e15.
  [[nodiscard]] double level(double entries) const;
};

struct FitOptions {
  std::optional<Index> hidden;
  std::uint64_t seed = 0;
  Index least_rows = 2000;  // smallest subset for the search with one output; fewer (600 at least) with more
  double rows_per_unknown = 12;   // equations for every unknown in the subset
  int most_restarts = 40;         // from random units, where the start leads nowhere
  bool thorough_pruning = false;  // as in SearchOptions
  bool noise_is_final = true;     // as in SearchOptions
  // Rough units by other means than growth, for data that a handful of units does not explain: asked for
  // once, where the growth has ended at that. Empty: the growth goes on.
  std::function<Matrix()> many_units;
  // Do the samples look like another kind of function? Asked where a first search was not exact, and after
  // many_units; then the fit is given up. Empty: no.
  std::function<bool()> another_kind;
  std::optional<RoundingNoise> rounding;  // where outputs are stored in less than double precision
  PolishOptions polish;
};

struct FitDescent {
  bool signed_form = false;
  double relative_mse = 0;
};

struct Fit {
  Form model;  // signed form; keeps a linear term where the signs are undecided
  SignDecision signs;
  SearchOutcome outcome = SearchOutcome::kStuck;
  double structure = 0;         // of the residual on the largest subset looked at; above 1: something is left
  double relative_mse = 1;      // over all rows
  Matrix noise_covariance;      // of the outputs, m x m, standardised units, freedom taken into account
  double rows_per_unknown = 0;  // equations for every unknown; below kReliable a verdict of noise is a guess
  int restarts = 0, repairs = 0;
  bool given_up = false;        // the samples look like another kind of function
  bool out_of_time = false;     // the deadline ended the search
  bool stalled = false;         // it ended by itself, without an exact fit or a residual that is noise
  double last_improvement = 1;  // as in SearchResult, of the last search
  std::vector<FitDescent> descent;
};

// V: rough units ((any number) x (d+1)), possibly none.
[[nodiscard]] Fit fit_units(const Matrix& V, const SamplePtr& standard, const FitOptions& options,
                            const Control& control);

// Free parameters of a network without linear term: k(d + m) + m (the scale of a unit is not free).
[[nodiscard]] Index free_parameters(Index inputs, Index hidden, Index outputs);

}  // namespace exhume
