// What can be expected of samples before anything is fitted (exhume/inspect.h), in terms of numbered columns.
//
//     shape, repeats, stored precision, inputs     certify/inspect.h, certify/stored_precision.h
#pragma once

#include <string>
#include <vector>

#include "certify/inspect.h"
#include "exhume/inspect.h"

namespace exhume {

[[nodiscard]] Outlook outlook(const SamplePtr& samples, const Control& control);

// A sentence per column of x (numbered from 1) that looks like an index of the rows: it counts them, or
// holds whole numbers that increase from every row to the next (the index that pandas writes of a table from
// which rows were removed).
[[nodiscard]] std::vector<std::string> index_remarks(const SampleSource& samples);

}  // namespace exhume
