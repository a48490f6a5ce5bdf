// GFLOP/s of a kernel beside a dgemm of comparable size in the same run.
//
//   Rate rate(state, flops, {.rows = 4096, .cols = 64, .inner = 4096});   // measures that dgemm,
//   for (auto _ : state) kernel();
//   rate.report();                                                        // and again: GFLOP/s, percent
//
// The dgemm runs right before and right after the kernel, since the machine's speed drifts; their mean
// counts. Both sides run on kBenchThreads threads: a dgemm rate is the sum over that many std::threads, each
// at its own single-threaded product. Register with ->UseRealTime().
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <string>

#include "exhume/types.h"

namespace exhume::bench {

inline constexpr int kBenchThreads = 2;

// C = A B with A rows x inner, B inner x cols: 2 rows cols inner operations.
struct DgemmShape {
  Index rows = 0, cols = 0, inner = 0;
  [[nodiscard]] double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(inner);
  }
};

// One product by OpenBLAS on the calling thread; hold a SingleThreadedBlas around it.
void dgemm(const Matrix& a, const Matrix& b, Matrix& c);

// Runs task(t) for t in [0, threads), each on a thread of its own, and waits for all.
void on_threads(int threads, const std::function<void(int)>& task);

// GFLOP/s over kBenchThreads threads, each repeating a dgemm of its own for half a second.
[[nodiscard]] double dgemm_gflops(const DgemmShape& shape);

// "model name" of the processor, or "unknown".
[[nodiscard]] std::string cpu_model();

class Rate {
 public:
  // `flops`: operations of one iteration of the benchmark's loop, over all threads.
  Rate(benchmark::State& state, double flops, const DgemmShape& beside);
  void report();

 private:
  using Clock = std::chrono::steady_clock;
  benchmark::State& state_;
  double flops_;
  DgemmShape beside_;
  double before_;
  Clock::time_point start_;
};

}  // namespace exhume::bench
