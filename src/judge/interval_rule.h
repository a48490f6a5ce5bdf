// When intervals of noisy fits are stated, and how often they hold.
//
// Both come from planted networks (battery/coverage.cc: 300 to 30,000 rows, 1 to 10 units, 1 to 6 inputs,
// five shapes of noise of 5 to 50% of the outputs' spread; docs/certificate.md has the table). With the right
// number of units intervals hold as they should from 16 entries per fitted number on; with fewer entries the
// number of units is hardly ever right. What breaks intervals is a missing unit, and units are missed where
// those that were found are not far above the least that can be seen: of 105 fits to 500 rows, 5 of the 7
// with a wrong number of units were among the 7 whose weakest unit explains less than six times
// `unseen_unit`, 2 among the other 59 (units that bend outside of the rows).
#pragma once

namespace exhume {

inline constexpr double kIntervalConfidence = 0.95;
// Entries (rows times outputs) for every fitted number, at least.
inline constexpr double kRowsForIntervals = 16;
// What the weakest unit explains over what a further one needs to be seen, at least.
inline constexpr double kWeakestUnit = 6;

// The share of 95% intervals, of weights and of slopes and hinges, that held the truth.
[[nodiscard]] inline double interval_coverage(double entries_per_number) {
  if (entries_per_number < kRowsForIntervals) return 0;
  return 0.94;  // within one percent in every class of rows for every number (docs/certificate.md)
}

}  // namespace exhume
