// Units from random answers of a subspace where lines are too noisy to show them all: the search of
// fit/fit.h.
//
// Answers of single precision blur kinks that lie close together on a line. What a line shows is then a start
// for the search that `recover` ends with, on as many random questions as it asks for.
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "model/separable_model.h"

namespace exhume {

// u: n x s, y: n x m. Returns a model in sign-free form; `start` gives rough units.
[[nodiscard]] SeparableModel searched_units(const SeparableModel& start, const RowMatrix& u,
                                            const RowMatrix& y, std::uint64_t seed, const Control& control);

}  // namespace exhume
