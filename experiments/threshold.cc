// Paper threshold: what its theorems promise, measured. The paper has no experiments of its own.
//
//   ReLU                    t = 2, orthonormal, d = k = 10, linear terms and all products
//   halfspaces              intersection of 10 at distance 2.5, pairwise angles of 60 degrees or more, with
//                           and without 1% of the labels turned around
//   deep                    12-8-8-1, first thresholds 2, sigmoids above
//   sigmoids                t = 4, from Gaussian and from biased rows
//   detectors               P without linear terms: scores of true directions and of directions 0.3 away
//   theorems 8, 9, 10       groups and directions from structure alone
//   starts                  the tensor start beside the paper's two objectives
//   refinements             RefineEstimate beside the step 2 that is used
//   figures                 errors against t, n and the angle between directions, step 1 alone and with
//                           step 2
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exhume/network.h"
#include "threshold_bench.h"

namespace exhume::experiments {
namespace threshold_parts {

Bench::Bench(const Options& given)
    : experiments::Bench(given), samples(given.quick ? 200000 : 1000000), seeds(given.quick ? 2 : 10) {}

void Bench::row(const std::string& experiment, int seed_number, double step1, double angle, double threshold,
                double extra) {
  rows += fmt::format("{},{},{:.3g},{:.3g},{:.3g},{:.6g}\n", experiment, seed(seed_number), step1, angle,
                      threshold, extra);
}

double angle(const Vector& a, const Vector& b) { return 2 * std::atan2((a - b).norm(), (a + b).norm()); }

Errors errors(const Matrix& W, const Vector& t, const ThresholdModel& truth) {
  const Index k = std::max(W.rows(), truth.W.rows());
  Matrix cost = Matrix::Constant(k, k, std::numbers::pi);
  for (Index i = 0; i < truth.W.rows(); ++i) {
    for (Index j = 0; j < W.rows(); ++j) cost(i, j) = angle(truth.W.row(i), W.row(j).normalized());
  }
  const std::vector<Index> match = optimal_assignment(cost);
  Errors out;
  for (Index i = 0; i < truth.W.rows(); ++i) {
    const Index j = match[static_cast<std::size_t>(i)];
    out.angle = std::max(out.angle, cost(i, j));
    if (j < t.size()) out.threshold = std::max(out.threshold, std::abs(t(j) - truth.t(i)));
  }
  return out;
}

}  // namespace threshold_parts

Report threshold(const Options& options) {
  threshold_parts::Bench bench(options);
  counts(bench);
  starts(bench);
  refinements(bench);
  sweeps(bench);
  bench.write("runs.csv", bench.rows);
  return bench.finish("findings.json");
}

}  // namespace exhume::experiments
