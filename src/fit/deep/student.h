// A wide student: the sign-free deep form with more units than needed, by Adam in single precision.
//
//     minimise over V_1, ..., V_D, C     mean over rows | y - C^T F(x; V) |^2         (fit/deep/form.h)
//
// A student of two to four times the teacher's widths finds, on the way to a relative error of 1e-6 or so, a
// unit close to every unit of the teacher: a start for what merges, polishes and prunes (fit/deep/prune.h).
// One of the teacher's own widths gets stuck.
//
// Rows that are fitted worst are shown more often in the second half, because a unit that bends within a few
// rows in a thousand is learnt from no others. Batches are windows of the rows in an order drawn once; the
// rate falls by a cosine. A step is done in chunks of rows whose gradients are added in a fixed order: the same
// seed gives the same bits on any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/control.h"
#include "model/form.h"
#include "fit/deep/student_data.h"

namespace exhume {

// Entries uniform in +-1/sqrt(number of columns), as usual.
[[nodiscard]] Form random_student(Index inputs, Index outputs, const std::vector<Index>& widths,
                                      std::uint64_t seed);

// Trains `start`, V and C.
[[nodiscard]] Student train(const Form& start, const StudentData& data, const StudentOptions& options,
                            const Control& control);

}  // namespace exhume
