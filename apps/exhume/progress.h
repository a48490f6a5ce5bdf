// One line on the terminal that says where the work stands:
//
//   search  ░░░░░░████░░░░░░░░░░░░░░  error 3.1e-05 with 12 units  41.2 s, step ends within 58 s
//
// Drawn on stderr by a thread of its own, so that it moves while the work is busy; erased before anything
// else is printed. Where stderr is no terminal, a line a minute instead.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "exhume/control.h"

namespace exhume::cli {

// Progress as it was last told, and when.
struct ProgressState {
  std::string stage;
  double fraction = 0;                                            // 0: nobody can tell
  double error = 1;                                               // of the best network so far
  std::ptrdiff_t units = 0;                                       // of that network; 0: none yet
  double seconds_left = std::numeric_limits<double>::infinity();  // until the deadline
  double elapsed = 0, stage_elapsed = 0;                          // seconds
};

// The line without colour for a terminal of so many columns, at most columns - 1 wide; `tick` moves what
// moves.
[[nodiscard]] std::string progress_line(const ProgressState& state, int columns, int tick);
// The same as a sentence, for logs.
[[nodiscard]] std::string progress_sentence(const ProgressState& state);

class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress);
  // Erases the line; it comes back with the next show().
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void tick();  // the thread
  void draw();

  const bool terminal_;
  const bool colour_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false, told_ = false, drawn_ = false;
  int ticks_ = 0;
  ProgressState state_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point stage_start_ = start_, told_at_ = start_, said_at_ = start_;
  std::thread thread_;
};

}  // namespace exhume::cli
