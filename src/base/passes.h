// Passes over the rows that several processes share, or that are remembered.
//
// A pass adds up numbered blocks of rows in the fixed tree of base/parallel.h. Which process adds which block
// does not change a bit of the sum, so blocks may be anywhere:
//
//     nobody      this process adds all of them                        (no Passes at all)
//     ranks       each adds its share, partial sums climb a tree        engine/open_mpi.h
//     driver      workers add those whose rows they hold                passes/driver.h, passes/worker.h
//     journal     a sum that is known already is not made again         passes/journal.h
//
// All processes run the same program on the same options: what they do between two passes is the same, bit by
// bit, so nothing but sums ever has to travel. A task is therefore small: the number of the pass. A process
// that comes late, or anew, runs the program from its start with the sums that the others have, and stands
// where they stand.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exhume/types.h"

namespace exhume {

// The sum of one pass while it is made.
class BlockSum {
 public:
  virtual ~BlockSum() = default;
  [[nodiscard]] virtual Index blocks() const = 0;
  // Are there rows that this process cannot read?
  [[nodiscard]] virtual bool distant() const = 0;
  // Adds the blocks of [first, last) that have not been added and whose rows are here.
  virtual void add(Index first, Index last) = 0;
  // Runs of blocks that nobody has added: [first, last).
  [[nodiscard]] virtual std::vector<std::pair<Index, Index>> missing() const = 0;
  // Says that blocks which are still missing will be read here next, so that their rows are fetched at once.
  virtual void announce_missing() = 0;
  // What has been added, as bytes; afterwards nothing has been.
  [[nodiscard]] virtual std::string take() = 0;
  // Adds what another's take() gave: blocks that nobody has added here.
  virtual void absorb(std::string_view bytes) = 0;
};

class Passes {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Passes() = default;
  // Makes `sum` whole: every block is in it when this returns, here and in all other processes.
  virtual void pass(std::string_view stage, BlockSum& sum) = 0;
  // What `make` gives, which is the same in every process. A journal keeps it, and then passes inside `make`
  // are no longer needed: for expensive computations with a small result.
  [[nodiscard]] virtual std::string once(std::string_view, const std::function<std::string()>& make) {
    return make();
  }
  // The time as the processes last agreed on it: the same in all of them. Never waits, so tasks may ask.
  [[nodiscard]] virtual Clock::time_point now() { return Clock::now(); }
  // Agrees on the time anew; all processes come here together.
  virtual void agree_on_time() {}
};

}  // namespace exhume
