#include "fit/deep/student_data.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "base/random.h"
#include "fit/deep/shuffled.h"

namespace exhume {

StudentData::StudentData(const SampleSource& samples, std::uint64_t seed, const Control& control) {
  const Index n = samples.rows();
  x.resize(n, samples.inputs());
  y.resize(n, samples.outputs());
  constexpr Index kRows = 4096;
  SampleBlock block;
  for (Index at = 0; at < n; at += kRows) {
    control.check();
    const Index count = std::min(kRows, n - at);
    samples.read(at, count, block);
    x.middleRows(at, count) = block.x().cast<float>();
    y.middleRows(at, count) = block.y().cast<float>();
  }
  shuffle(seed);
}

void StudentData::shuffle(std::uint64_t seed) {
  const std::vector<Index> order = shuffled(rows(), Stream(seed, "student order"));
  x = x(order, Eigen::all).eval();
  y = y(order, Eigen::all).eval();
}

StudentData StudentData::with_hard_rows(const Form& form, double share, std::uint64_t seed,
                                        const Control& control) const {
  const Index n = rows();
  Eigen::VectorXf left(n);
  constexpr Index kRows = 4096;
  parallel_for((n + kRows - 1) / kRows, control, [&](Index b) {
    const Index at = b * kRows, count = std::min(kRows, n - at);
    const RowMatrix f = evaluate(form, x.middleRows(at, count).cast<double>());
    left.segment(at, count) = (f.cast<float>() - y.middleRows(at, count)).rowwise().squaredNorm();
  });
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  const Index hard = std::max<Index>(1, static_cast<Index>(share * static_cast<double>(n)));
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return left(i) > left(j); });
  order.resize(static_cast<std::size_t>(hard));
  StudentData out;
  out.x.resize(2 * n, x.cols());
  out.y.resize(2 * n, y.cols());
  out.x.topRows(n) = x;
  out.y.topRows(n) = y;
  for (Index i = 0; i < n; ++i) {
    const Index from = order[static_cast<std::size_t>(i % hard)];
    out.x.row(n + i) = x.row(from);
    out.y.row(n + i) = y.row(from);
  }
  out.shuffle(seed);
  return out;
}

}  // namespace exhume
