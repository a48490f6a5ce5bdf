// Moment kernels beside a dgemm: second order at d = m = 64, and fourth order with one output.
#include "moments/moments.h"

#include <cmath>

#include "base/parallel.h"
#include "base/random.h"
#include "linalg/symmetric_matrix.h"
#include "rate.h"

namespace exhume::bench {
namespace {

constexpr Index kBlocks = 16;  // of kBlockRows rows, eight a thread

// Checks one entry of the second moment against a plain sum.
bool agrees(const HermiteMoments& moments, const RowMatrix& x, const RowMatrix& y) {
  double sum = 0, scale = 0;
  for (Index i = 0; i < x.rows(); ++i) {
    const double term = y(i, 0) * x(i, 0) * x(i, 1) * std::sqrt(2.0);
    sum += term;
    scale += std::abs(term);
  }
  const double found = (moments.sums[0].order2 + moments.sums[1].order2)(symmetric_position(0, 1), 0);
  return std::abs(found - sum) <= 1e-13 * scale;
}

void BM_moments(benchmark::State& state) {
  const Index d = state.range(0), m = state.range(1), rows = kBlocks * kBlockRows, p = symmetric_size(d);
  const int order = static_cast<int>(state.range(2));
  RowMatrix x(rows, d), y(rows, m);
  Stream(1, "x").fill_normal(0, x);
  Stream(1, "y").fill_normal(0, y);
  const SamplePtr samples = memory_view(x.data(), y.data(), rows, d, m);
  Control control;
  control.threads = kBenchThreads;
  if (!agrees(hermite_moments(*samples, order, control), x, y)) {
    state.SkipWithError("the moment differs from the plain sum");
    return;
  }
  // Only useful operations: one multiply and one add for every entry with its indices in order.
  const Index triples = p * (d + 2) / 3;  // (d+2 choose 3), and (d+3 choose 4) is triples (d + 3) / 4
  const double entries = static_cast<double>(m * (order == 2 ? p : p + triples + triples * (d + 3) / 4));
  const DgemmShape beside = order == 2 ? DgemmShape{p, m, 2048} : DgemmShape{p, p, 2048};
  Rate rate(state, 2 * entries * static_cast<double>(rows), beside);
  for (auto _ : state) benchmark::DoNotOptimize(hermite_moments(*samples, order, control));
  rate.report();
}
BENCHMARK(BM_moments)
    ->ArgNames({"d", "m", "order"})
    ->Args({64, 64, 2})
    ->Args({32, 32, 2})
    ->Args({16, 1, 4})
    ->Args({30, 1, 4})
    ->Args({64, 1, 4})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace exhume::bench
