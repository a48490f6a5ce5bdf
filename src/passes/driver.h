// The process that leads workers elsewhere: Dask's client, Spark's driver (base/passes.h says why sums are
// all that travels).
//
//     driver                          worker (any number, passes/worker.h)
//     pass p begins
//     shares(p)            ──────►    adds the blocks whose rows it holds
//     joins, adds what lies           ◄──────  partial sums
//     across two workers' rows
//     entry p              ──────►    goes on to pass p + 1
//
// An entry is all that a worker needs to know of a pass: its sum and the time, or rows that everybody reads.
// Whoever has entries 0 .. p - 1 can work on pass p, so a worker that died is replaced by one that is told
// all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/passes.h"
#include "passes/distant_rows.h"

namespace exhume {

// What an engine does for a driver. Called from the thread that runs the program, one call at a time.
struct Engine {
  // Partial sums of pass `number`, from workers that together hold every row once; rows across two of them
  // are left out.
  std::function<std::vector<std::string>(Index number)> shares;
  DistantRows::Fetch fetch;                                      // rows from whoever holds them
  std::function<void(Index number, std::string entry)> publish;  // entry `number` is known
};

class Driver final : public Passes {
 public:
  Driver(Engine engine, Index rows, Index inputs, Index outputs);

  [[nodiscard]] SamplePtr samples() const { return rows_; }
  void pass(std::string_view stage, BlockSum& sum) override;
  [[nodiscard]] Clock::time_point now() override { return now_; }

 private:
  [[nodiscard]] FetchedRows told(std::span<const RowRun> runs);
  void publish(std::string payload);

  Engine engine_;
  std::shared_ptr<DistantRows> rows_;
  Index number_ = 0;
  bool in_pass_ = false;
  std::vector<RowRun> edges_;  // rows that lay across two workers the last time, and what they are
  FetchedRows edge_rows_;
  Clock::time_point begin_ = Clock::now(), now_ = begin_;
};

}  // namespace exhume
