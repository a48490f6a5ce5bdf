// Does what a fit leaves jump somewhere?
//
// A step h = 1[u(x) > t] along a direction u (an input in the user's coordinates, a unit, a fitted output) is
// no network of ReLUs, and units take up most of a small one: weights are then wrong by several of their
// standard errors, and no other test need show it. With T the tangent of the fit (features F and, up to 300
// columns in all, the derivatives G of the units by their weights) and h' what is left of h beside T,
//
//     z = sum h' r / max(sum h'^2 r^2, sum h'^2)^(1/2)        standard normal for noise, smaller where it
//     is uneven
//
// (r has variance 1; the first sum alone would be too small by chance beside few rows of skewed noise)
//
// the largest over directions and up to 64 thresholds each, finer ones towards both ends, at least 32 rows on
// either side. All steps along u are sums of bins between thresholds, so the pass sums T, r T and r^2 T by
// bins: O(rows p (p + directions)), on as many rows as 4e9 of that go.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/form.h"

namespace exhume {

struct JumpLook {
  double largest = 0;    // |z|
  double tests = 1;      // how many z were looked at
  Index direction = -1;  // of the largest: input from 0, then units, then outputs
};

// residual: rows of standardised samples with decorrelated residuals of `model` as outputs. columns: as in
// certify/residual_look.h.
[[nodiscard]] JumpLook look_for_jumps(const Form& model, const SampleSource& residual, const Matrix& columns,
                                      const Control& control);

}  // namespace exhume
