// Orders of numbered things.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "exhume/types.h"

namespace exhume {

// 0, ..., count - 1.
[[nodiscard]] inline std::vector<Index> numbers_below(Index count) {
  std::vector<Index> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), Index{0});
  return out;
}

// The numbers of the entries of `values` (an Eigen vector) from the least to the largest; of equals the first
// is first.
template <class Values>
[[nodiscard]] std::vector<Index> increasing_order(const Values& values) {
  std::vector<Index> out = numbers_below(values.size());
  std::stable_sort(out.begin(), out.end(), [&](Index i, Index j) { return values(i) < values(j); });
  return out;
}

}  // namespace exhume
