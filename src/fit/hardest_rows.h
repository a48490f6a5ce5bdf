// The rows that a model explains worst, and two sets of rows as one.
#pragma once

#include "exhume/samples.h"
#include "fit/polish.h"

namespace exhume {

// The `count` rows with the largest squared residual, in memory, worst first; ties by row number.
[[nodiscard]] SamplePtr hardest_rows(const SeparableModel& model, const SampleSource& samples, Index count,
                                     const Control& control);

[[nodiscard]] SamplePtr joined(const SampleSource& first, const SampleSource& second);

}  // namespace exhume
