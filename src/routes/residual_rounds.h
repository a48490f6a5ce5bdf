// Units in rounds: the spectral search again on what the units found so far leave.
//
//     R = y - f(x; V)  over all rows  ->  moments of R of orders 2 to 4  ->  new directions, each with its
//     best bias  ->  polish of all units together  ->  those worth nothing dropped  ->  again
//
//     V: k' x (d+1), the units so far, sign-free (fit/polish.h); f: their least-squares fit with linear term
//
// The noise of a moment is that of the function it is taken of. Every unit found takes its part out of R, so
// that a round sees units which the round before could not: those with small weights, and those that stood
// too close to a strong one. R depends on fewer directions than y, so a round also costs less than the one
// before it: its moments are formed in the residual's own active subspace.
//
// Where less is left than a few of the weakest units explain, few are missing: then a round first adds those
// of many tried units (fit/unit_search.h) that the residual on the rows of the polish asks for, and takes
// moments only where that did not help.
//
// The polish runs on few rows (`rows_per_unknown`), the moments on all. It ends with an exact fit on these
// rows, or where their residual has no structure left, or where rounds bring nothing any more. What comes out
// is a start: the search (fit/fit.h) goes on from there, on more rows, and decides.
//
// Assumes standardised Gaussian inputs, as routes/depth2.h does. Cost a round: moments in r active
// dimensions, n m r^4 / 4 flops; a polish of k' units, some ten steps of n' (k' d)^2 on n' rows.
#pragma once

#include <functional>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/polish.h"
#include "routes/depth2.h"

namespace exhume {

struct RoundsOptions {
  Depth2Options spectral;       // of every round; `hidden` is the most units that are kept
  double rows_per_unknown = 5;  // equations for every unknown on the rows of the polish
  double exact = 1e-24;         // relative mean square at which the fit is exact
  // Units that explain some of the residual, where moments are not to be taken.
  std::function<Matrix(const SampleSource& residual, int round)> look;
  // Asked once, where the rounds after the first took too little or brought nothing: true where the rows
  // are not those of ReLUs. The rounds then end as stalled. Three rounds after the first left 0.001 to
  // 0.018 of its residual in seven networks of ReLUs (20 to 64 inputs, amplitudes up to a hundredfold
  // apart), and 0.24 to 0.44 of tanh, sigmoid and softplus units.
  std::function<bool()> another_kind;
  int rounds_before_asking = 3;
  double slow = 0.1;
  int most_rounds = 16;
  int patience = 3;  // rounds in a row without progress before giving up
};

enum class RoundsEnd {
  kExact,    // an exact fit on the rows of the polish
  kNoise,    // no structure is left on these rows
  kStalled,  // rounds bring nothing any more, or there are too few rows for them
  kTime,     // the deadline
};

struct Rounds {
  Matrix V;  // units, (any number) x (d+1)
  RoundsEnd end = RoundsEnd::kTime;
  double relative_mse = 1;      // on the rows of the polish; 1 where nothing was done
  std::vector<double> descent;  // relative_mse along all polishes
};

// From the units V, possibly none.
[[nodiscard]] Rounds residual_rounds(const Matrix& V, const SamplePtr& standard, const RoundsOptions& options,
                                     const Control& control);

}  // namespace exhume
