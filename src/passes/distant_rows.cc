#include "passes/distant_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "exhume/error.h"

namespace exhume {

const DistantRows::Known* DistantRows::announced(Index first, Index count) const {
  const auto after = std::upper_bound(known_.begin(), known_.end(), first,
                                      [](Index row, const Known& known) { return row < known.first; });
  if (after == known_.begin()) return nullptr;
  const Known& known = *(after - 1);
  return first + count <= known.first + known.count ? &known : nullptr;
}

bool DistantRows::here(Index first, Index count) const {
  if (holding_) return first >= held_first_ && first + count <= held_first_ + held_count_;
  return announced(first, count) != nullptr;
}

void DistantRows::read(Index first, Index count, SampleBlock& block) const {
  if (holding_ && here(first, count)) {
    const Index at = first - held_first_;
    block.view(first, count, inputs_, held_x_ + at * inputs_, outputs_, held_y_ + at * outputs_);
    return;
  }
  const Known* const known = announced(first, count);
  if (known == nullptr)
    throw std::logic_error(
        fmt::format("rows {} to {} are elsewhere and were not announced", first, first + count));
  const Index at = known->at + first - known->first;
  block.view(first, count, inputs_, announced_.x.data() + at * inputs_, outputs_,
             announced_.y.data() + at * outputs_);
}

void DistantRows::announce(std::span<const RowRun> runs) const {
  // In ascending order, and each row once: runs of a view may meet in one row of its base.
  std::vector<RowRun> wanted;
  for (const RowRun& run : runs) {
    if (run.count > 0) wanted.push_back(run);
  }
  std::sort(wanted.begin(), wanted.end(), [](const RowRun& a, const RowRun& b) { return a.first < b.first; });
  std::vector<RowRun> joined;
  for (const RowRun& run : wanted) {
    if (!joined.empty() && run.first <= joined.back().first + joined.back().count) {
      joined.back().count = std::max(joined.back().count, run.first + run.count - joined.back().first);
    } else {
      joined.push_back(run);
    }
  }
  known_.clear();
  if (joined.empty()) return;
  Index at = 0;
  std::vector<Known> known;
  for (const RowRun& run : joined) {
    known.push_back({run.first, run.count, at});
    at += run.count;
  }
  FetchedRows fetched = fetch_(joined);
  if (fetched.x.rows() != at || fetched.y.rows() != at || fetched.x.cols() != inputs_ ||
      fetched.y.cols() != outputs_) {
    throw DataError(
        fmt::format("{} rows of {} inputs and {} outputs were asked for, but {} of {} and {} came", at,
                    inputs_, outputs_, fetched.x.rows(), fetched.x.cols(), fetched.y.cols()));
  }
  announced_ = std::move(fetched);
  known_ = std::move(known);
}

void DistantRows::hold(Index first, Index count, const double* x, const double* y) {
  holding_ = true;
  held_first_ = first;
  held_count_ = count;
  held_x_ = x;
  held_y_ = y;
}

}  // namespace exhume
