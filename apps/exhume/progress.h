// One line on the terminal that says where the work stands:
//
//   moments  ████████░░░░░░░░  52%  1.2 s
//
// Drawn on stderr, at most ten times a second, only on a terminal; gone when the object is.
#pragma once

#include <chrono>

#include "exhume/base/control.h"

namespace exhume::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool active_;
  bool colour_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_{};
};

}  // namespace exhume::cli
