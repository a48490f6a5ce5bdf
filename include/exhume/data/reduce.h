// A pass over the rows of samples: blocks by several threads, joined in the fixed tree of base/parallel.h.
//
//     value = merge over blocks b of add(empty, rows [4096 b, 4096 (b + 1)))
//
// The same bits for any number of threads, and memory that does not grow with the number of rows.
#pragma once

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

#include "exhume/base/control.h"
#include "exhume/base/parallel.h"
#include "exhume/data/samples.h"

namespace exhume {

// Reduces rows [0, source.rows()) of `source`: every block goes through add(accumulator, block),
// starting from a copy of `empty`, and the accumulators are merged in the fixed tree. `stage` names
// the pass for progress.
template <class Value, class Add>
[[nodiscard]] Value reduce_blocks(const SampleSource& source, const Value& empty, const Control& control,
                                  std::string_view stage, const Add& add, Index block_rows = kBlockRows) {
  const Index blocks = (source.rows() + block_rows - 1) / block_rows;
  if (blocks == 0) return empty;
  BlockTree<Value> tree(blocks);
  std::mutex counting;  // progress never falls
  Index done = 0;
  parallel_for(blocks, control, [&](Index b) {
    SampleBlock block;
    const Index first = b * block_rows;
    source.read(first, std::min(block_rows, source.rows() - first), block);
    Value value = empty;
    add(value, block);
    tree.put(b, std::move(value));
    if (stage.empty()) return;
    const std::lock_guard lock(counting);
    control.report(stage, static_cast<double>(++done) / static_cast<double>(blocks));
  });
  return tree.take();
}

// Like load (data/samples.h), its blocks by several threads.
[[nodiscard]] inline SamplePtr load(const SampleSource& source, const Control& control) {
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
