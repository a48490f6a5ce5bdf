// Whether the units found are all there are: activity by the number of units that are active.
//
//     none, one, more = sums of |f - c_0| over the active rows with 0, 1, >= 2 units on
//
// more/all bounds the part of f that is not linear in the units. none/all is what no unit explains: a unit
// that was missed, or labels turned around at random. The second leaves rows that look like resting ones;
// the first pulls their mean towards it and makes them longer.
#pragma once

#include <tuple>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"
#include "papers/threshold/alone.h"

namespace exhume {

struct Activity {
  double none = 0, one = 0, more = 0;
  double fourth = 0;  // sum of |x|^4
  Index rows = 0;
  // Rows on which no unit is active: those that rest, and those that do not.
  struct Quiet {
    double count = 0, square = 0;  // rows, sum of |x|^2
    Vector x;                      // sum of x
    void merge(const Quiet& other);
  } resting, stray;

  explicit Activity(Index d);
  void merge(const Activity& other);
  auto fields() { return std::tie(none, one, more, fourth, rows, resting, stray); }
  [[nodiscard]] double all() const { return none + one + more; }
  // By how many standard errors stray rows differ from resting ones, in mean or in length.
  [[nodiscard]] double stray_pull() const;
  [[nodiscard]] double stray_rate() const;  // share of stray rows among those with no unit active
};

// One pass, O(n d k); inputs standard.
[[nodiscard]] Activity measure_activity(const SampleSource& samples, const LowestUnits& units,
                                        const RestLevel& rest, const Control& control);

}  // namespace exhume
