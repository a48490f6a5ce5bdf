// What routes that end in the unit search share (fit/fit.h): conditions, demands, and the end itself.
#pragma once

#include "base/in_time.h"
#include "routes/route.h"

namespace exhume {

// Share of the budget for finding a network by search; the rest is for judging it.
inline constexpr double kFitShare = 0.88;

// The inspection's tests of normality (certify/inspect.h).
[[nodiscard]] Applies gaussian_inputs(const Prepared& data);
[[nodiscard]] Applies gaussian_inputs_of(Job& job);
// Four outputs or more, and no fewer than the units asked for.
[[nodiscard]] Applies many_outputs(const Job& job);

// Small networks of smooth units against small ones of ReLUs, trained for a moment; the first call looks. A
// search for ReLUs that was not exact asks, before it goes on. Where small networks do not tell, the kind
// stays open, and counts as ReLUs, until settled_kind() is asked for.
[[nodiscard]] const UnitKind& kind_of_units(Job& job);
[[nodiscard]] const UnitKind& settled_kind(Job& job);

// Throws DataError unless there are rows enough for the unknowns of a fit.
void demand_rows_for_fit(const SampleSource& samples, const RecoverOptions& options);

// Units known beforehand, V: k' x (d+1), rows (w, b) in the coordinates of the samples.
[[nodiscard]] Start start_from(const Matrix& V, Job& job);

// A start from moments, given up at the deadline: then the search gets no units, and says what it can.
// make(standard, control): from the standardised samples.
template <class Make>
[[nodiscard]] Start start_in_time(Job& job, const char* stage, const Make& make) {
  Start start;
  start.V.resize(0, job.data.rows()->inputs() + 1);
  const SamplePtr& standard = job.data.standard();
  if (!finished_in_time(job.control, [&](const Control& strict) { start = make(standard, strict); }))
    start.said = "the time ended before the moments did";
  job.clock.lap(stage);
  return start;
}

// The finish of most routes: unit search, signs, signed polish (fit/fit.h), from at most `restarts` random
// starts where the given one leads nowhere. many_units: where a handful does not do (fit/fit.h).
[[nodiscard]] Found finish_by_fit(Job& job, const Start& start, int restarts,
                                  Matrix (*many_units)(Job& job) = nullptr);
// The same without restarts.
[[nodiscard]] Found finish_from_start(Job& job, const Start& start);

}  // namespace exhume
