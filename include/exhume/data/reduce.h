// A pass over the rows of samples: blocks by several threads, joined in the fixed tree of base/parallel.h.
//
//     value = merge over blocks b of add(empty, rows [4096 b, 4096 (b + 1)))
//
// The same bits for any number of threads and, where control.passes has them (base/passes.h), of processes; and memory
// that does not grow with the number of rows. What a Value is made of is told to base/packed.h.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exhume/base/control.h"
#include "exhume/base/inside_parallel.h"
#include "exhume/base/packed.h"
#include "exhume/base/parallel.h"
#include "exhume/base/passes.h"
#include "exhume/data/samples.h"

namespace exhume {

// The sum of one pass of values of one type.
template <class Value, class Add>
class PassSum final : public BlockSum {
 public:
  PassSum(const SampleSource& source, const Value& empty, const Control& control, std::string_view stage,
          const Add& add, Index block_rows)
      : source_(source),
        empty_(empty),
        control_(control),
        stage_(stage),
        add_(add),
        block_rows_(block_rows),
        added_(static_cast<std::size_t>((source.rows() + block_rows - 1) / block_rows)),
        tree_(blocks()) {}

  [[nodiscard]] Index blocks() const override { return static_cast<Index>(added_.size()); }
  [[nodiscard]] bool distant() const override { return source_.distant(); }

  void add(Index first, Index last) override {
    std::vector<Index> mine;
    for (Index b = first; b < last; ++b) {
      if (!added_[static_cast<std::size_t>(b)] && source_.here(run(b).first, run(b).count)) mine.push_back(b);
    }
    std::mutex counting;  // progress never falls
    Index done = 0;
    parallel_for(static_cast<Index>(mine.size()), control_, [&](Index i) {
      const Index b = mine[static_cast<std::size_t>(i)];
      SampleBlock block;
      source_.read(run(b).first, run(b).count, block);
      Value value = empty_;
      add_(value, block);
      tree_.put(b, std::move(value));
      if (stage_.empty()) return;
      const std::lock_guard lock(counting);
      control_.report(stage_, static_cast<double>(++done) / static_cast<double>(mine.size()));
    });
    for (const Index b : mine) added_[static_cast<std::size_t>(b)] = true;
  }

  [[nodiscard]] std::vector<std::pair<Index, Index>> missing() const override {
    std::vector<std::pair<Index, Index>> runs;
    for (Index b = 0; b < blocks(); ++b) {
      if (added_[static_cast<std::size_t>(b)]) continue;
      if (runs.empty() || runs.back().second != b) runs.emplace_back(b, b);
      runs.back().second = b + 1;
    }
    return runs;
  }

  void announce_missing() override {
    std::vector<RowRun> runs;
    for (const auto& [first, last] : missing()) {
      for (Index b = first; b < last; ++b) runs.push_back(run(b));
    }
    source_.announce(runs);
  }

  [[nodiscard]] std::string take() override {
    packing::Writer out;
    for (const auto& [place, value] : tree_.take_nodes()) {
      out.put(place);
      out.put(value);
    }
    added_.assign(added_.size(), false);
    return std::move(out.bytes);
  }

  void absorb(std::string_view bytes) override {
    packing::Reader in(bytes);
    while (!in.left().empty()) {
      std::pair<Index, Index> place;
      in.get(place);
      const auto [level, node] = place;
      if (level < 0 || level > 60 || node < 0 || (node << level) >= blocks())
        throw DataError("a sum speaks of blocks that there are not; make it again with the same samples");
      const Index last = std::min(blocks(), (node + 1) << level);
      for (Index b = node << level; b < last; ++b) {
        if (added_[static_cast<std::size_t>(b)])
          throw DataError("two sums hold the same rows; give every row once");
        added_[static_cast<std::size_t>(b)] = true;
      }
      Value value = empty_;
      in.get(value);
      tree_.put_node(level, node, std::move(value));
    }
  }

  // When nothing is missing.
  [[nodiscard]] Value value() { return tree_.take(); }

 private:
  [[nodiscard]] RowRun run(Index block) const {
    const Index first = block * block_rows_;
    return {first, std::min(block_rows_, source_.rows() - first)};
  }

  const SampleSource& source_;
  const Value& empty_;
  const Control& control_;
  std::string_view stage_;
  const Add& add_;
  Index block_rows_;
  std::vector<bool> added_;
  BlockTree<Value> tree_;
};

// Reduces rows [0, source.rows()) of `source`: every block goes through add(accumulator, block),
// starting from a copy of `empty`, and the accumulators are merged in the fixed tree. `stage` names
// the pass for progress.
template <class Value, class Add>
[[nodiscard]] Value reduce_blocks(const SampleSource& source, const Value& empty, const Control& control,
                                  std::string_view stage, const Add& add, Index block_rows = kBlockRows) {
  const Index blocks = (source.rows() + block_rows - 1) / block_rows;
  if (blocks == 0) return empty;
  PassSum<Value, Add> sum(source, empty, control, stage, add, block_rows);
  // Inside a task, passes come in no order that processes could share.
  if (control.passes && !inside_parallel_for()) {
    control.passes->pass(stage, sum);
  } else {
    sum.add(0, blocks);
  }
  return sum.value();
}

// Like load (data/samples.h), its blocks by several threads.
[[nodiscard]] inline SamplePtr load(const SampleSource& source, const Control& control) {
  if (source.distant()) return load(source);
  RowMatrix x(source.rows(), source.inputs()), y(source.rows(), source.outputs());
  parallel_for((source.rows() + kBlockRows - 1) / kBlockRows, control, [&](Index b) {
    SampleBlock block;
    const Index first = b * kBlockRows, size = std::min(kBlockRows, source.rows() - first);
    source.read(first, size, block);
    x.middleRows(first, size) = block.x();
    y.middleRows(first, size) = block.y();
  });
  return memory_samples(std::move(x), std::move(y));
}

}  // namespace exhume
