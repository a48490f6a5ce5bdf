// The unit that is missing, read off the rows that show it.
//
//     y - f(x) = a max(v.P_{l-1}, 0)        on rows that a network, exact on all others, does not reproduce
//
// These lie on the far side of a kink that no unit has, and there what is left is linear in what the unit stands on: v is the solution
// of a linear system, by least absolute residuals, because two units may be missing. Sets of rows on which one of them
// shows alone: in the last layer those of one sign, or of one direction a in the outputs; below it those on which all units
// above are on the same side.
#pragma once

#include <optional>

#include "fit/data.h"
#include "model/form.h"

namespace exhume {

inline constexpr Index kOverFew = 3;  // rows beyond the weights of a unit, from which on they tell these

// The form with one more unit in layer l (from 0), read off the rows `left` that it does not reproduce; rows
// that are off by no more than `tolerance` agree. Nothing where they are fewer than the entries of a row of V_l, or
// show no unit. C is left to be solved again.
[[nodiscard]] std::optional<Form> with_missing_unit(const Form& form, std::size_t l,
                                                        const DeepData& left, double tolerance);

}  // namespace exhume
