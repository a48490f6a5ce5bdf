// Is what a route found final, or should the next route be tried?
#pragma once

#include "judge/found.h"
#include "judge/prepared.h"

namespace exhume {

// A network that is reproduced to the precision of the samples is final, and so is noise: the residual of a
// fit that a search calls noise is looked at once more. May replace the fit by one close to it that
// reproduces every training entry to its stored precision.
[[nodiscard]] bool is_final(Found& found, Prepared& data, const Control& control);

// Measures what the fit's model leaves, into the fit; returns the products of its residuals.
Matrix measure_again(Fit& fit, const SampleSource& standard, const Control& control);

// The same network of ReLUs with w of unit norm in every unit, as the polish leaves it.
[[nodiscard]] Form scale_units(Form model);

}  // namespace exhume
