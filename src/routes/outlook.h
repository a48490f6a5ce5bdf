// What can be expected of samples before anything is fitted (exhume/inspect.h), in terms of numbered columns.
//
//     shape, repeats, stored precision, inputs     certify/inspect.h, certify/stored_precision.h
#pragma once

#include <vector>

#include "certify/inspect.h"
#include "exhume/inspect.h"

namespace exhume {

[[nodiscard]] Outlook outlook(const SamplePtr& samples, const Control& control);

// Columns of x (numbered from 0) that count their rows: 0, 1, 2, ... or 1, 2, 3, ...
[[nodiscard]] std::vector<Index> index_columns(const SampleSource& samples);

}  // namespace exhume
