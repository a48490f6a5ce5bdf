// One hidden layer of smooth units, told and found from samples.
//
//     f(x) = sum_j a_j sigma(w_j . x + b_j) + c          sigma: a row of the table of activations
//
//     a short student per activation -> longer ones of those that do well -> polish (fit/polish.h) with a
//     free linear term -> prune -> signs -> polish without the linear term
//
// Recognition. tanh and sigmoid are one class, sought as tanh. Students of a wrong sigma come close (1e-4 of
// the variance), but only the right one becomes exact: a polish tells. With noise none becomes exact; then
// the fit that explains most with the fewest units wins, and how much better it is than the next is said.
//
// Students. Where turning a unit is another function (ELU), gradient steps may build it from several that
// point the other way, and no small step leads out of that. Another student rarely does so with the same
// unit: least squares over the units of three students, without those that are spare (fit/elimination.h),
// keeps the right ones. A start that does not become exact passes its units on to the next.
//
// Pruning. A unit is worth what its removal costs if all other units and output weights follow to first
// order, the features and their derivatives being the columns that are eliminated: of doubled units one is
// worth nothing, not both. What goes at once is confirmed by a polish.
//
// Signs. Where sigma(z) - sigma(-z) = z the sign of a unit hides in the linear term, as for ReLUs
// (fit/signs.h); other units need no linear term.
//
// All in standardised coordinates. A polish of K units costs rows (K (d+1))^2 operations per step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fit/fit.h"

namespace exhume {

struct SmoothSearchOptions {
  std::string activation = "auto";  // or a name of the table of activations
  std::optional<Index> hidden;
  std::uint64_t seed = 0;
  int starts = 4;                         // per width, while none becomes exact
  std::optional<RoundingNoise> rounding;  // where outputs are stored in less than double precision
};

struct SmoothTrial {
  std::string activation;
  double trained = 1;   // relative error of the student
  double polished = 1;  // and of what the polish made of it; 1 where it was not polished
  Index units = 0;
};

struct SmoothFound {
  Fit fit;  // plain form with its unit, or with a linear term where that is needed
  std::string activation;
  std::vector<SmoothTrial> trials;
  bool few_rows = false;  // more units would have been tried, had there been more rows
  bool exact = false;     // to rounding, or to the precision of the outputs
  double runner_up = 1;   // error of the best other activation over that of this one; large: told well
};

// Do the samples look as if smooth units had made them? Students of a few hundred steps, sign-free ReLUs
// against smooth ones; where that does not tell, longer ones of more kinds and a few steps of the polish, and
// with `only_cheap` these only where they cost little. The kind that is closest at first need not be the
// right one: 30 ELU units looked like tanh to students and like ReLUs after the polish of tanh units.
//
// Few units say little about many: ReLUs that were trained on a smooth function are fitted better by a few
// smooth units than by as few ReLUs (0.3 to 0.85 of the error). So units are called smooth only if the smooth
// fit also leaves little: less than smooth units can leave of a function with kinks.
struct SmoothScreen {
  double piecewise = 1, smooth = 1;  // relative errors
  [[nodiscard]] bool looks_smooth() const;
  [[nodiscard]] bool clearly_smooth() const;
  // Neither kind is excluded: fits of many units decide.
  [[nodiscard]] bool open() const;
};
[[nodiscard]] SmoothScreen screen_units(const SampleSource& standard, std::uint64_t seed,
                                        const Control& control, bool only_cheap = false);

[[nodiscard]] SmoothFound search_smooth_units(const SamplePtr& standard, const SmoothSearchOptions& options,
                                              const Control& control);

// Equations that a search without a given width needs for the widest students that it goes up to.
[[nodiscard]] Index equations_of_widest_smooth_students(Index inputs, Index outputs);

// A plain network in the sign-free form of ReLUs, whose algebra of signs is that of all units with sigma(z) -
// sigma(-z) = z: a sigma(z) = a/2 E(z) + a/2 z, E even. L: (d+1) x m, a linear term beside the units.
[[nodiscard]] Form in_even_units(const Matrix& V, const Matrix& A, const Matrix& L);

}  // namespace exhume
