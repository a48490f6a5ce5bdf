// Rough units of one hidden layer, whatever the inputs and however many units: those of a trained student.
//
//     width w -> train (fit/student.h) -> little left?  no: w more units beside the learnt ones, again
//                                                       yes: the units that the student can do without go
//
// Leaving out. With C solved, unit j is worth |C_j|^2 / ((F^T F)^-1)_jj, and the inverse without it follows
// in q^2 products: the unit worth least goes, again and again, as long as the error stays below a few times
// what the student left. So doubled units go first, and one of each pair stays. No pass over the rows.
//
// Cost: 6 steps batch w (d + m) flops per width, twice that of the last one in all; leaving out, w q^2.
#pragma once

#include <cstdint>
#include <optional>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/student.h"

namespace exhume {

struct StudentUnitsOptions {
  std::optional<Index> hidden;  // number of units, where known: the first student is a quarter wider
  std::uint64_t seed = 0;
  Index first_width = 32;
  Index most_width = 2048;
  Index steps = 4000;    // of every width
  double enough = 1e-6;  // share of the variance below which a polish does the rest
  double most_flops = 1e13;
};

struct StudentUnits {
  Matrix V;                 // units, (any number) x (d+1)
  double relative_mse = 1;  // that the student left, before units were left out
  Index width = 0;          // of the last student
};

// Samples in standardised coordinates; outputs of any scale.
[[nodiscard]] StudentUnits student_units(const SampleSource& standard, const StudentUnitsOptions& options,
                                         const Control& control);

}  // namespace exhume
