#include "exhume/control.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "base/inside_parallel.h"
#include "base/passes.h"
#include "exhume/error.h"

namespace exhume {

int Control::workers() const {
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void Control::report(std::string_view stage, double fraction) const {
  if (!on_progress) return;
  const std::lock_guard lock(shared_->mutex);
  // By the clock of this process: others may not show anything.
  const bool endless = deadline == Clock::time_point::max();
  const double left = endless ? std::numeric_limits<double>::infinity()
                              : std::chrono::duration<double>(deadline - Clock::now()).count();
  on_progress({stage, fraction, shared_->error, shared_->units, left});
}

void Control::best(double error, std::ptrdiff_t units) const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->units > 0 && !(error < shared_->error)) return;
  shared_->error = error;
  shared_->units = units;
}

void Control::check() const {
  if (!should_stop) return;
  const std::lock_guard lock(shared_->mutex);
  if (should_stop()) throw Interrupted();
}

double Control::seconds_left() const {
  if (deadline == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(deadline - now()).count();
}

Control::Clock::time_point Control::now() const {
  if (!passes) return Clock::now();
  // Tasks run in no order that processes could share.
  if (!inside_parallel_for()) passes->agree_on_time();
  return passes->now();
}

void Control::spend(double operations) const {
  // All there is (base/ended.h): also from tasks, and for good.
  if (std::isinf(operations)) std::atomic_ref(shared_->spent).store(operations);
  if (!inside_parallel_for() && std::isfinite(shared_->spent)) shared_->spent += operations;
}

Control Control::within_work(double operations) const {
  Control limited = *this;
  limited.most_work = std::min(most_work, spent() + operations);
  return limited;
}

Control Control::within(double seconds) const {
  Control limited = *this;
  if (seconds < 1e9) {
    seconds = std::max(seconds, -1e9);  // what a clock can count
    limited.deadline =
        std::min(deadline,
                 now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  }
  return limited;
}

}  // namespace exhume
