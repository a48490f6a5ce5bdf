// Which of many weights a picture of intervals shows: those with the largest standard errors, in their old
// order.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace exhume {

constexpr std::size_t kMostIntervals = 24;  // of a layer

// Entry: has a member `error`.
template <class Entry>
[[nodiscard]] std::vector<Entry> least_certain(std::vector<Entry> list) {
  if (list.size() <= kMostIntervals) return list;
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return list[a].error > list[b].error; });
  order.resize(kMostIntervals);
  std::sort(order.begin(), order.end());
  std::vector<Entry> kept;
  kept.reserve(order.size());
  for (const std::size_t i : order) kept.push_back(std::move(list[i]));
  return kept;
}

}  // namespace exhume
