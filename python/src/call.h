// One call from Python into long work: the GIL is released, Ctrl-C and the progress callback still work.
//
// Signals. Python only runs handlers on its main thread, so the thread that made the call looks for them, at
// most every kInterval; the library's other threads only read a flag. What the handler raised
// (KeyboardInterrupt) ends the work and is what the caller sees. So is what the progress callback raised.
//
// Locks are taken in one order, the control's mutex before the GIL, so two calls cannot block each other.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include "base/passes.h"
#include "bindings.h"
#include "exhume/control.h"
#include "exhume/error.h"

namespace exhume::python {

class Call {
 public:
  // progress: None, or callable as progress(stage: str, fraction: float). Made and destroyed with the GIL
  // held. passes: who shares the passes over rows; empty: nobody.
  Call(int threads, nb::object progress, std::shared_ptr<Passes> passes = nullptr);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // work(control) without the GIL.
  template <class Work>
  auto run(const Work& work) {
    try {
      auto result = [&] {
        const nb::gil_scoped_release released;
        return work(static_cast<const Control&>(control_));
      }();
      if (raised_) std::rethrow_exception(raised_);
      return result;
    } catch (const Interrupted&) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kInterval = std::chrono::milliseconds(50);

  bool should_stop();
  void show(const Progress& progress);
  void keep_error();

  Control control_;
  nb::object progress_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> stop_{false};
  std::exception_ptr raised_;
  Clock::time_point looked_ = Clock::now(), shown_;
  std::string stage_;
};

}  // namespace exhume::python
