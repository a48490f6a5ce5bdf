// Finding all units: the polish, with units added from the residual and weak ones dropped, until the fit is
// exact or what is left is noise.
//
// Adding. A candidate unit f = |w.x + b| would lower the sum of squares by
//
//     score(f) = |f'^T R|^2 / |f'|^2      f' = f projected off the features F; R: residual, n x m
//
// and if R is noise of variance s^2, score / s^2 is chi-squared with m degrees of freedom. Candidates are the
// eigenvectors of the residual's own second moments and random directions, each with several biases. Where
// even the best of them is no larger than chance allows, no structure is left.
//
// Dropping. Unit j is worth |C_j|^2 / ((F^T F)^-1)_jj: the increase of the sum of squares without it. Doubled
// units are worth little, so they go first.
//
// Nothing is assumed of the inputs. The sign-free form (polish.h) is used throughout. A local minimum is
// left by going through k + 1 or k + 2 units (add, polish, drop, polish), and by starting again at
// random if that fails.
//
// Stalling. Data that no small network explains would keep a search busy until its deadline. It gives up
// where much work, counted in flops so that every run counts the same, has not lowered the residual; and
// where only an exact fit will do, a growth ends when twice the units leave more than a quarter of the
// residual, as with smooth functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/polish.h"

namespace exhume {

struct SearchOptions {
  std::optional<Index> hidden;  // number of units; empty: as many as the residual asks for
  Index most_hidden = 200;      // with `hidden` empty: give up beyond
  std::uint64_t seed = 0;
  double exact_relative = 1e-24;  // mean squared residual / variance of y at which the fit is exact
  // Below this much, what is left may be the rounding of a computation in single precision: a unit counts
  // only where it leaves an eighth of the residual.
  double nearly_exact = 0;
  int most_restarts = 40;
  int most_repairs = 6;  // attempts to leave one local minimum, before a restart
  // An exact fit on continuous inputs sheds units that are doubled or idle. On inputs with discrete
  // columns other units may be superfluous too, where few rows lie close to some hinge: try without each of
  // the weakest, and repair, before settling for a size.
  bool thorough_pruning = false;
  bool noise_is_final = true;  // stop where no structure is left; otherwise go on for an exact fit
  PolishOptions polish;
};

// Equations for every unknown above which the significance test is trusted to see a missing unit.
inline constexpr double kReliable = 12;

enum class SearchOutcome {
  kExact,  // residual at rounding
  kNoise,  // no structure left in the residual: the best fit of this many units
  kStuck,  // structure is left: it stalled, or restarts or time ran out
};

struct SearchResult {
  Form model;  // sign-free
  SearchOutcome outcome = SearchOutcome::kStuck;
  double relative_mse = 1;
  double structure = 0;  // best candidate's score over its chance level: above 1 something is left
  int restarts = 0, repairs = 0;
  bool out_of_time = false;  // the deadline ended the search
  bool stalled = false;      // it ended by itself, without an exact fit or a residual that is noise
  // Least residual at the end over that at half of the work: 1 where it does not fall any more.
  double last_improvement = 1;
  std::vector<double> descent;  // of the polish that led to the result
};

// Starts from the units V ((any number) x (d+1); may be empty). `samples` should be
// in memory and standardised.
[[nodiscard]] SearchResult search_units(const Matrix& V, const SampleSource& samples,
                                        const SearchOptions& options, const Control& control);

// Candidate units for the residual of `model`, best first: V rows and their scores over residual variance.
struct Candidates {
  Matrix V;          // count x (d+1)
  Vector scores;     // chi-squared with m degrees of freedom under pure noise
  Index tested = 0;  // how many were scored
};
[[nodiscard]] Candidates candidate_units(const Form& model, const SampleSource& samples, Index count,
                                         std::uint64_t seed, const Control& control);

// The scores of given units V (count x (d+1)) for the residual of `model`, over its variance.
[[nodiscard]] Vector unit_scores(const Form& model, const SampleSource& samples, const Matrix& V,
                                 const Control& control);

// The increase of the mean square without unit j (outputs of unit variance: a share of the
// variance): k of them.
[[nodiscard]] Vector unit_worth(const Form& model, const SampleSource& samples, const Control& control);

// The score that the best of `tested` candidates exceeds by chance with probability kUnitFalseAlarm
// (base/limits.h): chi-squared, m degrees of freedom.
[[nodiscard]] double chance_level(Index outputs, Index tested);

// Of units (w, b) that are equal up to sign, within `tolerance` in every entry, only the first.
[[nodiscard]] Matrix without_doubles(const Matrix& V, double tolerance);

}  // namespace exhume
