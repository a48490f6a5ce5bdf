// Ends of inputs as people give them: one number for all, a list, a file; or the ranges of a table of data.
#pragma once

#include <string>

#include "exhume/control.h"
#include "exhume/oracle.h"

namespace exhume {

// `text` is a number, numbers with commas between them, or a file that holds a row or a column of them
// (io/open.h). Throws std::invalid_argument, which calls it `what`, unless it is one number or one per input:
// so many are given back.
[[nodiscard]] Vector ends_of_inputs(const std::string& text, Index inputs, const std::string& what);

// Smallest and largest number of every column of a table of inputs: n x d. One pass; a column that is
// constant fixes its input. Throws DataError where it has another number of columns.
[[nodiscard]] Box box_of_table(const std::string& path, Index inputs, const Control& control);

}  // namespace exhume
