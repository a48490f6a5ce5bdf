// Seconds by stage: every lap is the time since the one before it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "exhume/certificate.h"

namespace exhume {

class StageClock {
 public:
  // The time since the last lap, or since the clock was made, is that of `stage`; a stage that comes again
  // adds to its entry.
  void lap(const std::string& stage) {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    for (StageTime& known : laps_) {
      if (known.stage == stage) {
        known.seconds += seconds;
        return;
      }
    }
    laps_.push_back({stage, seconds});
  }
  // Since the clock was made.
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  [[nodiscard]] const std::vector<StageTime>& laps() const { return laps_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
  std::vector<StageTime> laps_;
};

}  // namespace exhume
