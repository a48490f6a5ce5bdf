// From a least-squares fit to one that lies within given bounds of every output.
//
//     |y_io - f_o(x_i)| <= h_io          for every row i and output o
//
// Outputs that were rounded when they were stored are off by at most h, but not independently: where no unit
// is active f is constant and all rows have the same rounding error, which least squares takes for a truth.
// Alternating projections: the fitted outputs are moved to the nearest point of their intervals (of 0.8 h, so
// that the end is reached and not only approached), the model is fitted to those, and so on.
#pragma once

#include <functional>

#include "exhume/base/control.h"
#include "exhume/data/samples.h"
#include "exhume/model/separable_model.h"

namespace exhume {

// h of an output with stored value y.
using HalfWidth = std::function<double(double y, Index output)>;

// The model after at most `rounds` projections; ends early where all entries lie within their bounds.
[[nodiscard]] SeparableModel within_bounds(const SeparableModel& start, const SamplePtr& samples,
                                           const HalfWidth& half_width, int rounds, const Control& control);

}  // namespace exhume
