// When intervals of noisy fits are stated, and how often they hold.
#pragma once

namespace exhume {

inline constexpr double kIntervalConfidence = 0.95;
// Entries (rows times outputs) for every fitted number below which intervals are not stated.
inline constexpr double kRowsForIntervals = 0;

[[nodiscard]] inline double interval_coverage(double entries_per_number) { return entries_per_number > 0 ? 0.95 : 0; }

}  // namespace exhume
