#include "call.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace exhume::python {

Call::Call(int threads, nb::object progress, std::shared_ptr<Passes> passes)
    : progress_(std::move(progress)) {
  if (threads < 0)
    throw std::invalid_argument(fmt::format("threads is {}, expected 0 (one per core) or more", threads));
  control_.threads = threads;
  control_.passes = std::move(passes);
  control_.should_stop = [this] { return should_stop(); };
  if (!progress_.is_none()) control_.on_progress = [this](const Progress& progress) { show(progress); };
}

bool Call::should_stop() {
  if (stop_) return true;
  if (std::this_thread::get_id() != caller_) return false;
  const Clock::time_point now = Clock::now();
  if (now - looked_ < kInterval) return false;
  looked_ = now;
  const nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) {
    try {
      nb::raise_python_error();
    } catch (...) {
      keep_error();
    }
  }
  return stop_;
}

void Call::show(const Progress& progress) {
  if (stop_) return;
  const Clock::time_point now = Clock::now();
  const bool news = progress.stage != stage_ || progress.fraction >= 1;
  if (!news && now - shown_ < kInterval) return;
  shown_ = now;
  stage_ = progress.stage;
  const nb::gil_scoped_acquire held;
  try {
    progress_(nb::str(stage_.data(), stage_.size()), progress.fraction);
  } catch (...) {
    keep_error();
  }
}

// The exception now in flight, to be thrown again by the thread that made the call.
void Call::keep_error() {
  if (!stop_.exchange(true)) raised_ = std::current_exception();
}

}  // namespace exhume::python
