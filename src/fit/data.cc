#include "fit/data.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"

namespace exhume {

DeepData::DeepData(RowMatrix inputs, RowMatrix outputs) : x(std::move(inputs)), y(std::move(outputs)) {
  variation = std::max((y.rowwise() - y.colwise().mean()).squaredNorm(), kTiny);
}

Vector DeepData::squares(const DeepForm& form, const Control& control) const {
  constexpr Index kRows = 2048;
  Vector left(rows());
  parallel_for((rows() + kRows - 1) / kRows, control, [&](Index b) {
    const Index at = b * kRows, count = std::min(kRows, rows() - at);
    left.segment(at, count) =
        (y.middleRows(at, count) - evaluate(form, x.middleRows(at, count))).rowwise().squaredNorm();
  });
  return left;
}

DeepData DeepData::take_out(const std::vector<Index>& listed) {
  std::vector<Index> others;
  others.reserve(static_cast<std::size_t>(rows()));
  auto next = listed.begin();
  for (Index i = 0; i < rows(); ++i) {
    if (next != listed.end() && *next == i) {
      ++next;
    } else {
      others.push_back(i);
    }
  }
  DeepData out(x(listed, Eigen::all), y(listed, Eigen::all));
  *this = DeepData(x(others, Eigen::all), y(others, Eigen::all));
  return out;
}

void DeepData::append(const DeepData& other) {
  RowMatrix inputs(rows() + other.rows(), x.cols()), outputs(rows() + other.rows(), y.cols());
  inputs << x, other.x;
  outputs << y, other.y;
  *this = DeepData(std::move(inputs), std::move(outputs));
}

Index DeepData::bring_forward(const DeepForm& form, Index most, double least, const Control& control) {
  const Vector left = squares(form, control);
  std::vector<Index> hard;
  for (Index i = 0; i < rows(); ++i)
    if (left(i) > least) hard.push_back(i);
  std::stable_sort(hard.begin(), hard.end(), [&](Index i, Index j) { return left(i) > left(j); });
  hard.resize(std::min(hard.size(), static_cast<std::size_t>(most)));
  // In increasing order, so that no row that was brought forward is sent back by a later one.
  std::sort(hard.begin(), hard.end());
  for (std::size_t to = 0; to < hard.size(); ++to) {
    const auto i = static_cast<Index>(to);
    if (hard[to] == i) continue;
    x.row(i).swap(x.row(hard[to]));
    y.row(i).swap(y.row(hard[to]));
  }
  return static_cast<Index>(hard.size());
}

}  // namespace exhume
