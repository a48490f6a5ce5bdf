// Which side of a direction is active, and from where on: f along z.x.
//
// The response along a direction z is E[f - c_0 | z.x = a], or Pr[active | z.x = a] where activity is exact,
// in bins of a. It is flat on one side. The threshold is where a step, or, for outputs with noise, a step or
// a kink explains it best, by least squares over the bins; the side is the one where it explains more. Where
// activity is exact and nearly certain on both sides there are two units, w and -w (a box has such pairs).
//
// One pass for all directions, O(n d k); then O(k) small problems.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"
#include "papers/threshold/alone.h"

namespace exhume {

struct Oriented {
  LowestUnits units;           // as many as directions, or more
  Index steps = 0, kinks = 0;  // units that a step, or a kink, explains better
};

// Directions: d x k unit columns, sign open; inputs standard.
[[nodiscard]] Oriented orient(const SampleSource& samples, Matrix directions, const RestLevel& rest,
                              const Control& control);

}  // namespace exhume
