// Units of a network from samples along a curve: one input, or inputs that are functions of one of them.
//
// Rows sorted along the curve fall into runs in which no unit changes its side, and there
//
//     y = M_r^T x~       x~ = (x, 1), d+1      M_r: (d+1) x m, one matrix a run
//
// From one run to the next a single unit changes its side, and
//
//     M_{r+1} - M_r = +-(w, b) a^T             rank one: the unit (w, b) and its output weights a
//
// So every unit that bends somewhere on the curve is read off, with all of its weights: not only where it
// bends, also how it looks elsewhere, although no sample lies off the curve. A unit that bends at several
// places comes out once. For one input this is a piecewise linear function and its kinks.
//
// Without noise only: a run is found by the rows that its matrix reproduces to rounding. Runs of fewer than
// 2d + 4 rows are not seen: units that bend too close to each other are left to the search.
// Cost: n d^2 log n flops.
#pragma once

#include "exhume/samples.h"

namespace exhume {

// Units ((number found) x (d+1), rows (w, b), |w| = 1, signs open) in the coordinates of `samples`. None
// where the rows do not lie along a curve, or do not fall into runs. `places` are the same rows with inputs
// of which one may grow along the curve: standardised ones seldom do, those of the user may.
[[nodiscard]] Matrix units_along_curve(const SampleSource& samples, const SampleSource& places);

}  // namespace exhume
