// Samples of which a process holds only some: partitions of a cluster's data, one site's rows.
//
// Rows that are here can be read in a pass; rows that were announced can be read until the next announcement,
// and come from `fetch`, which is the same in all processes: the driver asks those who hold them, workers are
// told.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "exhume/samples.h"

namespace exhume {

// Rows x_i, y_i side by side, in the order of the runs they were asked for.
struct FetchedRows {
  RowMatrix x, y;
};

class DistantRows final : public SampleSource {
 public:
  using Fetch = std::function<FetchedRows(std::span<const RowRun>)>;
  DistantRows(Index rows, Index inputs, Index outputs, Fetch fetch)
      : rows_(rows), inputs_(inputs), outputs_(outputs), fetch_(std::move(fetch)) {}

  Index rows() const override { return rows_; }
  Index inputs() const override { return inputs_; }
  Index outputs() const override { return outputs_; }
  bool distant() const override { return true; }
  bool here(Index first, Index count) const override;
  void read(Index first, Index count, SampleBlock& block) const override;
  void announce(std::span<const RowRun> runs) const override;

  // Until let_go() these rows are here and no others: n x d and n x m, row-major.
  void hold(Index first, Index count, const double* x, const double* y);
  void let_go() { holding_ = false; }

 private:
  struct Known {
    Index first, count, at;  // `at`: row of announced_
  };
  const Known* announced(Index first, Index count) const;

  Index rows_, inputs_, outputs_;
  Fetch fetch_;
  bool holding_ = false;
  Index held_first_ = 0, held_count_ = 0;
  const double* held_x_ = nullptr;
  const double* held_y_ = nullptr;
  mutable FetchedRows announced_;
  mutable std::vector<Known> known_;  // by their first row
};

}  // namespace exhume
