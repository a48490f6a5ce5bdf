#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/blas.h"
#include "base/inside_parallel.h"

namespace exhume {

void parallel_for(Index count, const Control& control, const std::function<void(Index)>& task) {
  const SingleThreadedBlas single;
  const Index workers = std::min<Index>(control.workers(), count);
  std::atomic<Index> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    const InsideParallelFor tasks;
    try {
      for (Index i = next++; i < count && !failed; i = next++) {
        control.check();
        task(i);
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  try {
    for (Index t = 1; t < workers; ++t) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads are to be had here: those that are do the work.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failure);
}

}  // namespace exhume
