// Work over blocks of rows by several threads, with results that do not depend on how many.
//
// `parallel_for` runs independent tasks. `reduce_blocks` turns every block of rows into an accumulator (one
// block, one thread) and joins them in a fixed binary tree over block numbers:
//
//     block   0   1   2   3   4          left child first, always; a node without a sibling is passed up
//              \ /     \ /    |
//               01      23    4
//                 \    /      |
//                  0123       4
//                     \______/
//
// so the floating-point sums are the same bits for any number of threads. At most (threads + log2 blocks)
// accumulators live at once.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

// Runs task(i) for i in [0, count), each by one of control.workers() threads, handed out in order. The first
// exception stops the rest and is thrown again here.
void parallel_for(Index count, const Control& control, const std::function<void(Index)>& task);

// Joins block results in the fixed tree. Feed `put(block, value)` from any thread, in any order, once a
// block; when all have come, `take()` is the root. Value needs `void merge(const Value&)`.
template <class Value>
class BlockTree {
 public:
  explicit BlockTree(Index blocks) : blocks_(blocks) {}

  void put(Index block, Value value) {
    Index level = 0, size = blocks_;
    while (true) {
      if (size == 1) {
        const std::lock_guard lock(mutex_);
        waiting_.emplace(std::make_pair(level, block), std::move(value));
        return;
      }
      const Index sibling = block ^ 1;
      if (sibling < size) {
        std::unique_lock lock(mutex_);
        auto other = waiting_.find({level, sibling});
        if (other == waiting_.end()) {
          waiting_.emplace(std::make_pair(level, block), std::move(value));
          return;
        }
        Value found = std::move(other->second);
        waiting_.erase(other);
        lock.unlock();
        if (block & 1) {
          found.merge(value);
          value = std::move(found);
        } else {
          value.merge(found);
        }
      }
      block >>= 1;
      size = (size + 1) / 2;
      ++level;
    }
  }

  Value take() { return std::move(waiting_.begin()->second); }

 private:
  Index blocks_;
  std::mutex mutex_;
  std::map<std::pair<Index, Index>, Value> waiting_;
};

// Reduces rows [0, source.rows()) of `source`: every block goes through add(accumulator, block), starting
// from a copy of `empty`, and the accumulators are merged in the fixed tree. `stage` names the pass for
// progress.
template <class Value, class Add>
[[nodiscard]] Value reduce_blocks(const SampleSource& source, const Value& empty, const Control& control,
                                  std::string_view stage, const Add& add, Index block_rows = kBlockRows) {
  const Index blocks = (source.rows() + block_rows - 1) / block_rows;
  if (blocks == 0) return empty;
  BlockTree<Value> tree(blocks);
  std::atomic<Index> done{0};
  parallel_for(blocks, control, [&](Index b) {
    SampleBlock block;
    const Index first = b * block_rows;
    source.read(first, std::min(block_rows, source.rows() - first), block);
    Value value = empty;
    add(value, block);
    tree.put(b, std::move(value));
    if (!stage.empty()) control.report(stage, static_cast<double>(++done) / static_cast<double>(blocks));
  });
  return tree.take();
}

}  // namespace exhume
