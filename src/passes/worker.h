// A process that adds the blocks whose rows it holds, and nothing else: one of a driver's workers
// (passes/driver.h).
//
// It runs the same program as the driver, in a thread of its own, which stops at every pass over distant rows
// until the sum of that pass is told. While it stands there, it adds whatever rows it is given.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "exhume/control.h"
#include "passes/distant_rows.h"

namespace exhume {

class Worker {
 public:
  // Like the driver's own work, on the same samples with the same options.
  using Program = std::function<void(const SamplePtr& samples, const Control& control)>;

  Worker(Index rows, Index inputs, Index outputs, int threads, Program program);
  ~Worker();  // ends the program where it stands
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The entry it needs next: all before it are known.
  [[nodiscard]] Index next() const;
  // Tells entry next().
  void learn(std::string entry);
  // Partial sums of pass next() over rows [first, first + count), which are x (count x d) and y (count x m),
  // row-major. Throws what the program threw, if it ended.
  [[nodiscard]] std::string share(Index first, Index count, const double* x, const double* y);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace exhume
