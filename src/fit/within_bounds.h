// Fits to outputs that were rounded when they were stored: off by at most h, but not independently.
//
//     |y_io - f_o(x_i)| <= h_io          for every row i and output o
//
// Where no unit is active f is constant and all rows have the same rounding error, which least squares takes
// for a truth. `fit_rounded` believes such rows only within their bounds, and fits the others by least
// squares.
//
// `within_bounds` looks for a model that keeps all bounds. Few unknowns: by cutting planes. To first order in
// the step (dV, dC) the bounds are linear; the program
//
//     maximise s    subject to  |y_io - f_o(x_i) - J_io (dV, dC)| <= (1 - s) h_io
//
// is solved for the entries that were furthest out so far, then those that the new model leaves furthest out
// join them. Many unknowns: by alternating projections. The fitted outputs are moved to the nearest point of
// their intervals (of 0.8 h, so that the end is reached and not only approached), the model is fitted to
// those, and so on.
#pragma once

#include <functional>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/form.h"

namespace exhume {

// h of an output with stored value y.
using HalfWidth = std::function<double(double y, Index output)>;

// The model after `rounds` Gauss-Newton steps.
[[nodiscard]] Form fit_rounded(const Form& start, const SamplePtr& samples, const HalfWidth& half_width,
                               int rounds, const Control& control);

// The model after at most `rounds` steps; ends early where all entries lie within their bounds.
[[nodiscard]] Form within_bounds(const Form& start, const SamplePtr& samples, const HalfWidth& half_width,
                                 int rounds, const Control& control);

}  // namespace exhume
