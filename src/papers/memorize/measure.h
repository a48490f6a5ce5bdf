// What is stated of a memorised network, measured again from the network and its rows.
//
//     network, rows, labels  ->  relative error, labels met, general position, second order, verdict
//
// The same functions that `memorize` ends with. O(n^3 / 3) for the kernel's factor, as the closed form.
#pragma once

#include "exhume/memorize.h"

namespace exhume {

// `result` has network, inputs, targets, method, perturb, tolerance and, of a descent, one entry per output;
// everything else is measured. `given`: the rows before they were perturbed. `options`: tolerance, solver.
// Throws DataError where network and rows do not fit together.
void measure_again(MemorizeResult& result, const RowMatrix& given, const MemorizeOptions& options,
                   const Control& control);

}  // namespace exhume
