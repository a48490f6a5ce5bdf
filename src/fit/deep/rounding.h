// From a student to a network that reproduces every row.
//
//     polish of most rows -> fewer units, on those -> a missing unit, read off the others -> polish
//
// until no row is left over. Rows that stay, fewer than it takes to tell the weights of a unit, are counted:
// no sample of this size shows what bends there.
#pragma once

#include <optional>
#include <vector>

#include "exhume/control.h"
#include "fit/polish.h"

namespace exhume {

struct ToRounding {
  Polished fit;             // relative_mse: over all rows
  bool minimal = false;     // no unit can go, as far as these rows tell: each was tried
  std::vector<Index> left;  // rows that it does not reproduce, where all others are; empty otherwise
};
// data: its rows may be reordered. each: equations per unknown that are polished on; exact: relative mean
// squared residual; rounds: of polish_most.
[[nodiscard]] ToRounding to_rounding(const Form& start, DeepData& data, double each, double exact, int rounds,
                                     const Control& control);

// A polish in which the rows that are fitted worst have no say.
//
// A unit that a student has missed, or that bends on the wrong side of a few rows, spoils those rows alone.
// Least squares spreads their error over all weights and stalls, at 1e-8 of the variance or so. With one row
// in a hundred left out, those fitted worst, chosen anew every few steps, the others fall to rounding; and so
// do most of those that were left out, because weights that are exact are exact for them too. Where a
// hundredth is not enough, four and sixteen are tried. Rows that do not are those on the far side of a kink
// that no unit has.
struct MostRows {
  Polished fit;             // its relative_mse is of the rows that it reproduces
  bool exact = false;       // those are most rows, and reproduced to `exact`
  std::vector<Index> left;  // the others, in increasing order; empty where it is not exact
};
// rounds: of a few steps, after each of which rows are chosen; those in which the error falls do not count.
[[nodiscard]] MostRows polish_most(const Form& start, const DeepData& data, double each, double exact,
                                   int rounds, const Control& control);

// Takes units above the first layer out of a sign-free form whose kink has fewer reproduced rows on one side
// than their weights take: what they do there is made up. These rows join `left`. True where there was one.
bool drop_rare_units(Form& form, const DeepData& data, std::vector<Index>& left);

// The unit that is missing, read off the rows that show it.
//
//     y - f(x) = a max(v.P_{l-1}, 0)        on rows that a network, exact on all others, does not reproduce
//
// These lie on the far side of a kink that no unit has, and there what is left is linear in what the unit
// stands on: v is the solution of a linear system, by least absolute residuals, because two units may be
// missing. Sets of rows on which one of them shows alone: in the last layer those of one sign, or of one
// direction a in the outputs; below it those on which all units above are on the same side.
//
// The form with one more unit in layer l (from 0), read off the rows `left` that it does not reproduce; rows
// that are off by no more than `tolerance` agree. Nothing where they are fewer than the entries of a row of
// V_l, or show no unit. C is left to be solved again.
[[nodiscard]] std::optional<Form> add_missing_unit(const Form& form, std::size_t l, const DeepData& left,
                                                   double tolerance);
inline constexpr Index kOverFew = 3;  // rows beyond the weights of a unit, from which on they tell these

// The rows that are listed, in that order.
[[nodiscard]] DeepData rows_of(const DeepData& data, const std::vector<Index>& rows);
// The residual of a row, root of its squares, above which it is not reproduced; rows that are off by so much;
// and those of the data that are not reproduced.
[[nodiscard]] double most_off(const DeepData& data, double exact);
[[nodiscard]] std::vector<Index> rows_off(const Form& form, const DeepData& data, double by,
                                          const Control& control);
[[nodiscard]] std::vector<Index> not_reproduced(const Form& form, const DeepData& data, double exact,
                                                const Control& control);

}  // namespace exhume
