// Samples seen another way: mixed, cut, mirrored.
//
//   linear_view     x' = P x, y' = Q y               P: r x d, Q: s x m
//   row_range       rows [first, first + count)
//   mirrored_view   (x_i, y_i) and (-x_i, y2_i)      2 n rows, for users who labelled -x too
//
// A mirrored view is symmetric by construction, whatever the inputs (paper symmetric, Section 1). Its rows
// come as x_0, x_1, -x_0, -x_1, x_2, x_3, -x_2, -x_3, ..., so that a row and its mirror image are both even
// or both odd and the two halves of moments.h stay independent.
#pragma once

#include "exhume/samples.h"

namespace exhume {

[[nodiscard]] SamplePtr linear_view(SamplePtr source, Matrix P, Matrix Q);

// Throws std::invalid_argument where the range leaves the source.
[[nodiscard]] SamplePtr row_range(SamplePtr source, Index first, Index count);

// `mirror_labels` has the same number of rows and outputs; only its outputs, the labels of -x, are read.
// Throws DataError where the shapes differ.
[[nodiscard]] SamplePtr mirrored_view(SamplePtr source, SamplePtr mirror_labels);

}  // namespace exhume
