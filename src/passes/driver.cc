#include "passes/driver.h"

#include <algorithm>
#include <utility>

#include "base/packed.h"
#include "passes/entry.h"

namespace exhume {

Driver::Driver(Engine engine, Index rows, Index inputs, Index outputs)
    : engine_(std::move(engine)),
      rows_(std::make_shared<DistantRows>(rows, inputs, outputs,
                                          [this](std::span<const RowRun> runs) { return told(runs); })) {}

void Driver::publish(std::string payload) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  now_ = begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  engine_.publish(number_++, packed(PassEntry{seconds, std::move(payload)}));
}

FetchedRows Driver::told(std::span<const RowRun> runs) {
  if (in_pass_) {
    // The same rows lie across two workers in every pass.
    const bool same =
        std::equal(runs.begin(), runs.end(), edges_.begin(), edges_.end(),
                   [](const RowRun& a, const RowRun& b) { return a.first == b.first && a.count == b.count; });
    if (!same) {
      edge_rows_ = engine_.fetch(runs);
      edges_.assign(runs.begin(), runs.end());
    }
    return edge_rows_;
  }
  FetchedRows rows = engine_.fetch(runs);
  publish(packed(rows));
  return rows;
}

void Driver::pass(std::string_view, BlockSum& sum) {
  if (!sum.distant()) {
    sum.add(0, sum.blocks());
    return;
  }
  for (const std::string& share : engine_.shares(number_)) sum.absorb(share);
  in_pass_ = true;
  try {
    sum.announce_missing();
    sum.add(0, sum.blocks());
  } catch (...) {
    in_pass_ = false;
    throw;
  }
  in_pass_ = false;
  std::string whole = sum.take();
  sum.absorb(whole);
  publish(std::move(whole));
}

}  // namespace exhume
