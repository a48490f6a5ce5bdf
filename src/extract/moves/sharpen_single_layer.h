// Moves that sharpen a single hidden layer whose units are known.
//
// Last digits, within the subspace; asks nothing. Gauss-Newton steps on all parameters at once, by QR and
// with weights.
//
//     minimise  sum_i (1/noise_i^2) | y_i - sum_j c_j |w_j.u_i + b_j| - L u_i - e |^2
//
// The polish (fit/polish.h) ends where its sum of squares cannot fall any more, at the rounding of the
// largest answers. Units with small amplitudes still have digits to gain then, which that sum does not show:
// here every answer counts by its own noise, and the Jacobian itself is factored, not its square. The scale
// of a unit is fixed by keeping its largest weight. O(n m p^2) with p = k (s + m) + (s + 1) m unknowns;
// larger problems are returned as they are.
//
// Average, over the domain, where answers are coarse; asks about 1.5 p / m queries, none where the limit does
// not allow them. A column of weights comes from steps along one direction, as short as its units allow
// (extract/moves/fill_columns.h): the error of an answer is divided by the step, and the errors of d columns
// add up. A random input has all directions in it at full length. With p unknowns and n m such answers of
// error sigma, Gauss-Newton on all parameters (conjugate gradients, 4 n d k operations per step) leaves
//
//     sigma (p / (n m - p))^(1/2)      at fresh inputs
//
// Search, within the subspace; asks nothing. Answers of single precision blur kinks that lie close together
// on a line. What a line shows is then a start for the search that `recover` ends with (fit/fit.h).
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "model/separable_model.h"
#include "oracle/meter.h"

namespace exhume {

// u: n x s, y: n x m, noise: n. `model` is sign-free with a linear term.
[[nodiscard]] SeparableModel sharpen_last_digits(const SeparableModel& model, const RowMatrix& u,
                                                 const RowMatrix& y, const Vector& noise,
                                                 const Control& control);

struct AverageOptions {
  std::uint64_t seed = 0;
  double spread = 1;        // standard deviation of inputs where there is no box
  std::uint64_t first = 0;  // row of the domain's random inputs from which on they are asked
};

// `model`: sign-free, in the user's coordinates. Returned as it is where the polish does not better it.
[[nodiscard]] SeparableModel average_weights(Meter& meter, const SeparableModel& model,
                                             const AverageOptions& options);

// u: n x s, y: n x m. Returns a model in sign-free form; `start` gives rough units.
[[nodiscard]] SeparableModel search_units_in_noise(const SeparableModel& start, const RowMatrix& u,
                                                   const RowMatrix& y, std::uint64_t seed,
                                                   const Control& control);

}  // namespace exhume
