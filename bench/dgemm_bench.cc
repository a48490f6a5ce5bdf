// The yardstick: products by OpenBLAS, two threads with one product each.
#include <cmath>
#include <limits>

#include "base/blas.h"
#include "base/random.h"
#include "rate.h"

namespace exhume::bench {
namespace {

void BM_dgemm(benchmark::State& state) {
  const DgemmShape shape{.rows = state.range(0), .cols = state.range(1), .inner = state.range(2)};
  const SingleThreadedBlas single;
  const Matrix a = Stream(2, "a").normal_matrix(shape.rows, shape.inner);
  const Matrix b = Stream(2, "b").normal_matrix(shape.inner, shape.cols);
  Matrix c[kBenchThreads];

  dgemm(a, b, c[0]);
  double sum = 0, scale = 0;
  for (Index i = 0; i < shape.inner; ++i) {
    sum += a(1, i) * b(i, 1);
    scale += std::abs(a(1, i) * b(i, 1));
  }
  const double tolerance = 4 * std::numeric_limits<double>::epsilon() * static_cast<double>(shape.inner);
  const double error = std::abs(c[0](1, 1) - sum) / scale;
  if (!(error <= tolerance)) {
    state.SkipWithError("dgemm differs from the sum of products");
    return;
  }

  Rate rate(state, kBenchThreads * shape.flops(), shape);
  for (auto _ : state) on_threads(kBenchThreads, [&](int t) { dgemm(a, b, c[t]); });
  rate.report();
  state.counters["error/eps"] = error / std::numeric_limits<double>::epsilon();
}
BENCHMARK(BM_dgemm)
    ->ArgNames({"rows", "cols", "inner"})
    ->Args({512, 512, 512})
    ->Args({1024, 1024, 1024})
    ->Args({4096, 64, 4096})  // as a block of rows of a second-order moment, d = m = 64
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace exhume::bench
