// How a caller watches and steers long work: threads, a device, other processes, progress, interruption, a
// deadline.
//
// Results never depend on `threads`; those of a device agree with the processor's to rounding. The callbacks
// may be called from any worker thread, one call at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>

#pragma GCC visibility push(default)
namespace exhume {

class Device;  // engine/device.h
class Passes;  // base/passes.h

// One line of progress: `stage` names the work ("moments", "polish"), `fraction` is how much of it is done, 0
// where nobody can tell.
struct Progress {
  std::string_view stage;
  double fraction = 0;
  double error = 1;          // relative mean square of the best network so far; meaningless without units
  std::ptrdiff_t units = 0;  // hidden units of that network; 0: there is none yet
  double seconds_left = std::numeric_limits<double>::infinity();  // until the deadline
};

class Control {
 public:
  using Clock = std::chrono::steady_clock;

  int threads = 1;                                        // workers; 0 means one per core
  std::function<void(const Progress&)> on_progress;       // empty: silent
  std::function<bool()> should_stop;                      // true ends the work with Interrupted
  Clock::time_point deadline = Clock::time_point::max();  // searches stop here and return their best

  std::shared_ptr<Device> device;  // where heavy sums may run; empty: here
  std::shared_ptr<Passes> passes;  // who shares the passes over the rows; empty: nobody

  // Worker threads that will be used: `threads`, or the number of cores where it is 0. At least 1.
  [[nodiscard]] int workers() const;
  // Calls on_progress, if any. Serialised.
  void report(std::string_view stage, double fraction) const;
  // A network of so many units leaves this relative mean square: told with every report until a better one
  // comes.
  void best(double error, std::ptrdiff_t units) const;
  // Throws Interrupted if should_stop says so. Cheap; call it once a block or an iteration.
  void check() const;
  // The deadline has come, or the work that was allowed is done: searches stop and return their best.
  [[nodiscard]] bool out_of_time() const { return spent() >= most_work || now() >= deadline; }
  [[nodiscard]] double seconds_left() const;
  // The same control with a deadline no later than `seconds` from now.
  [[nodiscard]] Control within(double seconds) const;

  // A limit that does not depend on the clock. Searches tell what they spent, in floating-point operations
  // that a formula counts: between passes, and the same in every process. Inside tasks of a pass nothing is
  // counted.
  double most_work = std::numeric_limits<double>::infinity();
  void spend(double operations) const;
  [[nodiscard]] double spent() const { return shared_->spent; }
  // The same control with at most so many operations more.
  [[nodiscard]] Control within_work(double operations) const;

  // The time; where processes share the passes, the same in all of them.
  [[nodiscard]] Clock::time_point now() const;

 private:
  // What copies share: they may be in use at once.
  struct Shared {
    std::mutex mutex;
    double error = 1;
    std::ptrdiff_t units = 0;
    double spent = 0;  // operations
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace exhume
#pragma GCC visibility pop
