// Long work that the deadline may end in the middle: a pass over many rows, one step of a large polish.
//
// A deadline (base/control.h) is looked at between steps, and their best result stands. Where a single step
// may take longer than the budget allows to be late, it runs under a control that throws at the deadline, and
// is given up.
#pragma once

#include "exhume/control.h"
#include "exhume/error.h"

namespace exhume {

// Runs work(control'), where control' is the same control, under which check() also throws at the deadline.
// False if the deadline came first: then whatever `work` was making is lost. Interruption by the caller is
// thrown as ever.
template <class Work>
[[nodiscard]] bool finished_in_time(const Control& control, const Work& work) {
  Control strict = control;
  bool late = false;  // written under the lock of check()
  if (control.deadline != Control::Clock::time_point::max()) {
    strict.should_stop = [&] {
      if (control.should_stop && control.should_stop()) return true;
      if (control.out_of_time()) late = true;
      return late;
    };
  }
  try {
    work(strict);
    return true;
  } catch (const Interrupted&) {
    if (!late) throw;
    return false;
  }
}

}  // namespace exhume
