// Work by several threads, with results that do not depend on how many.
//
// `parallel_for` runs independent tasks. `BlockTree` joins the results of numbered blocks in a fixed binary
// tree over their numbers:
//
//     block   0   1   2   3   4          left child first, always; a node without a sibling is passed up
//              \ /     \ /    |
//               01      23    4
//                 \    /      |
//                  0123       4
//                     \______/
//
// so floating-point sums are the same bits for any number of threads. About threads + log2(blocks) values
// live at once. Passes over the rows of samples: data/reduce.h.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

// Rows are taken in blocks of this many, by global row number, each by one thread.
inline constexpr Index kBlockRows = 4096;

// Runs task(i) for i in [0, count), each by one of control.workers() threads, handed out in order. The first
// exception stops the rest and is thrown again here.
void parallel_for(Index count, const Control& control, const std::function<void(Index)>& task);

// Joins block results in the fixed tree. Feed `put(block, value)` from any thread, in any order, once a
// block; when all have come, `take()` is the root. Value needs `void merge(const Value&)`.
template <class Value>
class BlockTree {
 public:
  explicit BlockTree(Index blocks) : blocks_(blocks) {}

  void put(Index block, Value value) { put_node(0, block, std::move(value)); }

  // The sum of blocks [block 2^level, (block + 1) 2^level).
  void put_node(Index level, Index block, Value value) {
    Index size = (blocks_ + (Index{1} << level) - 1) >> level;
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

  // Sums that wait for others, by (level, block); afterwards none does.
  std::map<std::pair<Index, Index>, Value> take_nodes() { return std::exchange(waiting_, {}); }

 private:
  Index blocks_;
  std::mutex mutex_;
  std::map<std::pair<Index, Index>, Value> waiting_;
};

}  // namespace exhume
