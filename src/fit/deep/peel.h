// The step that peels: what lies on known layers is a problem of one layer less.
//
// Given V_1, ..., V_{D-1} up to sign and scale, the outputs are a network of one hidden layer in the features
//
//     P_{D-1} = (|Q_{D-1}|, ..., |Q_1|, x, 1)                                          (fit/deep/form.h)
//
// and one hidden layer needs no student: units drawn at random, more than the network has, are polished with V_1, ...,
// V_{D-1} fixed. They are drawn in coordinates in which the features have covariance I, so that every one bends where
// the rows are. On fewer rows at first, because far from the end a step need not be a good one. What comes out
// misses at most the units that bend among few rows, and these are found from there (fit/deep/to_rounding.h).
// Features too many do no harm: nothing stands on them.
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "fit/polish.h"

namespace exhume {

// lower: V_1, ..., V_{D-1}. The form that is returned has `width` units in V_D, the layers below as given; its relative
// error is that of the rows that were polished on.
[[nodiscard]] Polished peel(const Form& lower, Index width, const DeepData& data, std::uint64_t seed,
                                const Control& control);

}  // namespace exhume
