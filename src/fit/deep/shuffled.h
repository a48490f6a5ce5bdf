// An order of rows, drawn from a stream of random numbers.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"

namespace exhume {

// 0, ..., count - 1, every order equally likely (Fisher and Yates).
[[nodiscard]] inline std::vector<Index> shuffled(Index count, const Stream& stream) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[stream.below(i + 1, i)]);
  return order;
}

}  // namespace exhume
