// Cross moments of the route symmetric at d = m = k, beside a dgemm of the same run.
#include <cmath>

#include "base/parallel.h"
#include "base/random.h"
#include "linalg/symmetric_matrix.h"
#include "moments/cross_moments.h"
#include "rate.h"

namespace exhume::bench {
namespace {

void BM_cross_moments(benchmark::State& state) {
  const Index k = state.range(0), n = 8 * kBlockRows;
  RowMatrix x(n, k), y(n, k);
  Stream(1, "x").fill_normal(0, x);
  Stream(1, "y").fill_normal(0, y);
  const SamplePtr samples = memory_view(x.data(), y.data(), n, k, k);
  Control control;
  control.threads = kBenchThreads;

  // One entry of each against its definition.
  const CrossMoments moments = cross_moments(*samples, control);
  const Index a = 0, b = k / 2, c = k - 1;
  const double third =
      (x.col(a).array() * x.col(b).array() * x.col(c).array() * y.col(1).array()).sum() * std::sqrt(2.0);
  const double fourth = (x.col(a).array() * x.col(b).array() * y.col(0).array() * y.col(1).array()).sum() * 2;
  const double error =
      std::max(std::abs(moments.yxxx(symmetric_position(a, b), c * k + 1) - third),
               std::abs(moments.yyxx(symmetric_position(a, b), symmetric_position(0, 1)) - fourth));
  if (!(error <= 1e-9 * static_cast<double>(n))) {
    state.SkipWithError("a cross moment differs from its sum of products");
    return;
  }
  Rate rate(state, CrossMoments::flops_per_row(k, k) * static_cast<double>(n),
            {.rows = 512, .cols = 512, .inner = 512});
  for (auto _ : state) benchmark::DoNotOptimize(cross_moments(*samples, control));
  rate.report();
  state.counters["error"] = error / static_cast<double>(n);
}
BENCHMARK(BM_cross_moments)->ArgName("k")->Arg(10)->Arg(32)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace exhume::bench
