// Rows on which a unit is alone, and the level at which all units rest.
//
// At a high threshold a unit is mostly active alone. On the rows
//
//     R_i = { x : w_i.x >= t_i - below,  w_j.x < t_j - guard for all j != i }
//
// f is a function of w_i.x only, f = c_0 + q_i(u(w_i.x - t_i)), whatever the upper network P is: q_i is P
// with all other units off. Everything that refines a unit works on these rows, held in memory: about
// n Phi(below - t_i) of them.
//
// c_0 = P(0, ..., 0) is the median of f, since no unit is active on most rows (paper threshold, footnote 5).
// Where a large share of the rows equals it exactly there is no noise, and [f != c_0] says exactly whether a
// unit is active.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/papers/threshold.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

struct LowestUnits {
  Matrix W;  // k x d, unit rows, pointing to where the unit is active
  Vector t;  // k
};

// From at most 65,536 rows spread over the samples; one output.
[[nodiscard]] RestLevel rest_level(const SampleSource& samples);

struct AloneRows {
  RowMatrix x;  // rows x d
  Vector y;     // rows
};
// R_i for every unit, in the order of the samples. One pass, O(n k d).
[[nodiscard]] std::vector<AloneRows> alone_rows(const SampleSource& samples, const LowestUnits& units,
                                                double below, double guard, const Control& control);

}  // namespace exhume
