// The last digits of a fitted model: Gauss-Newton steps on all its parameters at once, by QR and with
// weights.
//
//     minimise  sum_i (1/noise_i^2) | y_i - sum_j c_j |w_j.u_i + b_j| - L u_i - e |^2
//
// The polish (fit/polish.h) ends where its sum of squares cannot fall any more, at the rounding of the
// largest answers. Units with small amplitudes still have digits to gain then, which that sum does not show:
// here every answer counts by its own noise, and the Jacobian itself is factored, not its square. The scale
// of a unit is fixed by keeping its largest weight. O(n m p^2) with p = k (s + m) + (s + 1) m unknowns;
// larger problems are returned as they are.
#pragma once

#include "exhume/control.h"
#include "model/separable_model.h"

namespace exhume {

// u: n x s, y: n x m, noise: n. `model` is sign-free with a linear term.
[[nodiscard]] SeparableModel with_last_digits(const SeparableModel& model, const RowMatrix& u,
                                              const RowMatrix& y, const Vector& noise,
                                              const Control& control);

}  // namespace exhume
