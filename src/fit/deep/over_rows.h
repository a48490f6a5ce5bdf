// Sums over rows in memory, by tasks whose number never depends on the number of threads.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

inline constexpr Index kTaskRows = 512;   // rows that a task takes at least
inline constexpr Index kMostTasks = 16;   // never depends on the number of threads
inline constexpr Index kStripRows = 256;  // rows whose Jacobian is in memory at once

// Tasks of consecutive rows, in strips: clear(sums) once, then add(sums, first, rows). Their sums are merged in a fixed binary
// tree; that of all rows is sums[0]. `sums` is memory that may serve the next call too: large ones take as long to get from
// the system as to fill.
template <class Sums, class Clear, class Add>
void over_rows_into(std::vector<Sums>& sums, Index rows, Index most_tasks, const Control& control,
                    const Clear& clear, const Add& add) {
  const Index tasks = std::clamp<Index>(rows / kTaskRows, 1, most_tasks);
  sums.resize(static_cast<std::size_t>(tasks));
  parallel_for(tasks, control, [&](Index task) {
    Sums& to = sums[static_cast<std::size_t>(task)];
    clear(to);
    const Index end = rows * (task + 1) / tasks;
    for (Index at = rows * task / tasks; at < end; at += kStripRows) {
      control.check();
      add(to, at, std::min(kStripRows, end - at));
    }
  });
  for (Index step = 1; step < tasks; step *= 2) {
    const Index pairs = (tasks - 1 - step) / (2 * step) + 1;
    parallel_for(pairs, control, [&](Index pair) {
      const Index left = pair * 2 * step;
      sums[static_cast<std::size_t>(left)].merge(sums[static_cast<std::size_t>(left + step)]);
    });
  }
}

// The same with memory of its own.
template <class Sums, class Add>
Sums over_rows(Index rows, Index most_tasks, const Sums& empty, const Control& control, const Add& add) {
  std::vector<Sums> sums;
  over_rows_into(
      sums, rows, most_tasks, control, [&](Sums& to) { to = empty; }, add);
  return std::move(sums[0]);
}

}  // namespace exhume
