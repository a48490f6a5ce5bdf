// Noisy rows: the least plain network whose residuals are no larger than chance makes them.
//
// A fit does not fall to rounding, but it converges. Of two networks the smaller one is taken where the sum of squares S
// grows by less than noise alone would hide:
//
//     N log S < N log S' + p log N       N = rows times outputs, p: weights that the other has more    (Schwarz, 1978)
//
// First units go, then, signs known, the skip terms.
#pragma once

#include <optional>

#include "exhume/control.h"
#include "fit/deep/found.h"
#include "fit/polish.h"

namespace exhume {

// From a student, or what became of it. Nothing where the fit converges to residuals that have structure, or time ends
// first. `plain` of what is returned says whether the
// network without skip terms is as good; `minimal` that every unit was tried.
[[nodiscard]] std::optional<DeepFound> finished_in_noise(const Form& start, DeepData& data,
                                                         const StructureLeft& structure_left,
                                                         const Control& control);

}  // namespace exhume
