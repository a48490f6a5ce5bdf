// A polish in which the rows that are fitted worst have no say.
//
// A unit that a student has missed, or that bends on the wrong side of a few rows, spoils those rows alone. Least
// squares spreads their error over all weights and stalls, at 1e-8 of the variance or so. With one row in a hundred
// left out, those fitted worst, chosen anew every few steps, the others fall to rounding; and so do most of those
// that were left out, because weights that are exact are exact for them too. Where a hundredth is not enough, four and
// sixteen are tried. Rows that do not are those on the far side of a kink that no unit has (fit/deep/missing_unit.h).
#pragma once

#include <vector>

#include "exhume/control.h"
#include "fit/polish.h"

namespace exhume {

struct MostRows {
  Polished fit;         // its relative_mse is of the rows that it reproduces
  bool exact = false;       // those are most rows, and reproduced to `exact`
  std::vector<Index> left;  // the others, in increasing order; empty where it is not exact
};

// each: equations an unknown that are polished on; rounds: of a few steps, after each of which rows are chosen; those in
// which the error falls do not count.
[[nodiscard]] MostRows polish_most(const Form& start, const DeepData& data, double each, double exact,
                                   int rounds, const Control& control);

// Takes units above the first layer out of a sign-free form whose kink has fewer reproduced rows on one side than their weights take: what
// they do there is made up. These rows join `left`. True where there was one.
bool without_rare_units(Form& form, const DeepData& data, std::vector<Index>& left);

// The rows that are listed, in that order.
[[nodiscard]] DeepData rows_of(const DeepData& data, const std::vector<Index>& rows);

// The residual of a row, root of its squares, above which it is not reproduced; rows that are off by so much; and those
// of the data that are not reproduced.
[[nodiscard]] double most_off(const DeepData& data, double exact);
[[nodiscard]] std::vector<Index> rows_off(const Form& form, const DeepData& data, double by,
                                          const Control& control);
[[nodiscard]] std::vector<Index> not_reproduced(const Form& form, const DeepData& data, double exact,
                                                const Control& control);

}  // namespace exhume
