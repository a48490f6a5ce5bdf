#include "fit/hardest_rows.h"

#include <algorithm>
#include <vector>

#include "fit/normal_sums.h"

namespace exhume {
namespace {

struct Worst {
  size_t most = 0;
  std::vector<std::pair<double, Index>> rows;  // squared residual, row number

  void keep() {
    const auto worse = [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    std::sort(rows.begin(), rows.end(), worse);
    if (rows.size() > most) rows.resize(most);
  }
  void merge(const Worst& other) {
    rows.insert(rows.end(), other.rows.begin(), other.rows.end());
    keep();
  }
};

void copy_rows(const SampleSource& from, RowMatrix& x, RowMatrix& y, Index to) {
  SampleBlock block;
  from.read(0, from.rows(), block);
  x.middleRows(to, from.rows()) = block.x();
  y.middleRows(to, from.rows()) = block.y();
}

}  // namespace

SamplePtr hardest_rows(const SeparableModel& model, const SampleSource& samples, Index count,
                       const Control& control) {
  const Worst worst = reduce_blocks(
      samples, Worst{static_cast<size_t>(count), {}}, control, "", [&](Worst& to, const SampleBlock& block) {
        const ModelBlock rows(model, block, false);
        const Vector squares = (rows.Y - rows.F * model.C).rowwise().squaredNorm();
        for (Index i = 0; i < block.rows(); ++i) {
          to.rows.emplace_back(squares(i), block.first_row() + i);
        }
        to.keep();
      });
  std::vector<RowRun> runs;
  for (const auto& [square, row] : worst.rows) runs.push_back({row, 1});
  return gathered(samples, runs);
}

SamplePtr joined(const SampleSource& first, const SampleSource& second) {
  RowMatrix x(first.rows() + second.rows(), first.inputs()), y(first.rows() + second.rows(), first.outputs());
  copy_rows(first, x, y, 0);
  copy_rows(second, x, y, first.rows());
  return memory_samples(std::move(x), std::move(y));
}

}  // namespace exhume
