// A search that the caller ends before its time, and whose best result so far is wanted: as at a deadline,
// which is where every search looks. All the work that any limit allows counts as done (Control::spend), and
// nothing is thrown.
#pragma once

#include <cmath>
#include <limits>

#include "exhume/control.h"

namespace exhume {

// For good, for all copies of the control. Not where a journal or other processes follow the work: these
// would take what was cut short for what comes of it.
inline void end_searches(const Control& control) { control.spend(std::numeric_limits<double>::infinity()); }
[[nodiscard]] inline bool searches_ended(const Control& control) { return std::isinf(control.spent()); }

}  // namespace exhume
