// Sums over rows in memory, by tasks whose number never depends on the number of threads.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "exhume/base/control.h"
#include "exhume/base/parallel.h"
#include "exhume/base/types.h"

namespace exhume {

inline constexpr Index kTaskRows = 512;   // rows that a task takes at least
inline constexpr Index kMostTasks = 16;   // never depends on the number of threads
inline constexpr Index kStripRows = 256;  // rows whose Jacobian is in memory at once

// Tasks of consecutive rows, in strips: add(sums, first, rows); their sums are merged in order.
template <class Sums, class Add>
Sums over_rows(Index rows, Index most_tasks, const Sums& empty, const Control& control, const Add& add) {
  const Index tasks = std::clamp<Index>(rows / kTaskRows, 1, most_tasks);
  std::vector<Sums> sums(static_cast<std::size_t>(tasks), empty);
  parallel_for(tasks, control, [&](Index task) {
    const Index end = rows * (task + 1) / tasks;
    for (Index at = rows * task / tasks; at < end; at += kStripRows) {
      control.check();
      add(sums[static_cast<std::size_t>(task)], at, std::min(kStripRows, end - at));
    }
  });
  for (std::size_t task = 1; task < sums.size(); ++task) sums[0].merge(sums[task]);
  return std::move(sums[0]);
}

}  // namespace exhume
