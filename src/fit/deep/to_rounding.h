// From a student to a network that reproduces every row: polish of most rows, then the units that the others show.
//
//     polish_most -> fewer units, on the rows that are reproduced -> a missing unit, read off the others -> polish
//
// until no row is left over. Rows that stay, fewer than it takes to tell the weights of a unit, are counted: no sample of
// this size shows what bends there.
#pragma once

#include "exhume/control.h"
#include "fit/polish.h"

namespace exhume {

struct ToRounding {
  Polished fit;         // relative_mse: over all rows
  bool minimal = false;     // no unit can go, as far as these rows tell: each was tried
  std::vector<Index> left;  // rows that it does not reproduce, where all others are; empty otherwise
};

// data: its rows may be reordered.
[[nodiscard]] ToRounding to_rounding(const Form& start, DeepData& data, double each, double exact,
                                     int rounds, const Control& control);

}  // namespace exhume
