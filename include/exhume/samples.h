// Where samples come from: a source of rows (x, y) that can be read in any order, block by block.
//
// A source has n rows, numbered 0..n-1; row i is an input x_i in R^d and an output y_i in R^m. `read` is
// random access and thread-safe, so that workers read their own blocks and a second pass costs nothing but
// time. Memory does not grow with n unless the source itself lives in memory.
//
// Rows may lie elsewhere, on other machines (`distant`): then a process reads those it holds, and what is
// announced.
//
// Sources compose: `training_rows(s)` leaves out the held-out rows of s, `affine(s)` shows s in other
// coordinates. Results depend only on the rows and their order, never on how they are stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

// A run of consecutive rows. Either points into somebody's memory (`view`) or holds its own (`allocate`).
class SampleBlock {
 public:
  [[nodiscard]] Index first_row() const { return first_row_; }
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] ConstRows x() const { return {x_, rows_, inputs_}; }   // rows x d
  [[nodiscard]] ConstRows y() const { return {y_, rows_, outputs_}; }  // rows x m

  // Points at row-major arrays that outlive the block.
  void view(Index first_row, Index rows, Index inputs, const double* x, Index outputs, const double* y);
  // Memory of its own (reused from call to call), to be filled through own_x() and own_y().
  void allocate(Index first_row, Index rows, Index inputs, Index outputs);
  RowMatrix& own_x() { return own_x_; }
  RowMatrix& own_y() { return own_y_; }

 private:
  Index first_row_ = 0, rows_ = 0, inputs_ = 0, outputs_ = 0;
  const double* x_ = nullptr;
  const double* y_ = nullptr;
  RowMatrix own_x_, own_y_;
};

// A run of consecutive rows.
struct RowRun {
  Index first = 0, count = 0;
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  [[nodiscard]] virtual Index rows() const = 0;
  [[nodiscard]] virtual Index inputs() const = 0;
  [[nodiscard]] virtual Index outputs() const = 0;
  // Fills `block` with rows [first, first + count). Thread-safe. Throws DataError if the rows cannot be read.
  virtual void read(Index first, Index count, SampleBlock& block) const = 0;

  // Are there rows that only other processes hold? The same answer in all of them.
  [[nodiscard]] virtual bool distant() const { return false; }
  // Can rows [first, first + count) be read in this process?
  [[nodiscard]] virtual bool here(Index, Index) const { return true; }
  // These rows will be read next, outside of any pass: distant ones are fetched, all at once. Those of the
  // announcement before may be gone.
  virtual void announce(std::span<const RowRun>) const {}
};

using SamplePtr = std::shared_ptr<const SampleSource>;

// A source that shows the rows of another one: `below` says which of those it needs for its own.
class SampleView : public SampleSource {
 public:
  explicit SampleView(SamplePtr base) : base_(std::move(base)) {}
  [[nodiscard]] Index rows() const override { return base_->rows(); }
  [[nodiscard]] Index inputs() const override { return base_->inputs(); }
  [[nodiscard]] Index outputs() const override { return base_->outputs(); }
  [[nodiscard]] bool distant() const override { return base_->distant(); }
  [[nodiscard]] bool here(Index first, Index count) const override;
  void announce(std::span<const RowRun> runs) const override;

 protected:
  // Appends the runs of base_ that rows [first, first + count), count > 0, are made of, in ascending order.
  virtual void below(Index first, Index count, std::vector<RowRun>& runs) const;
  SamplePtr base_;
};

// Samples in memory: X n x d, Y n x m. The first owns them, the second points at them.
[[nodiscard]] SamplePtr memory_samples(RowMatrix x, RowMatrix y);
[[nodiscard]] SamplePtr memory_view(const double* x, const double* y, Index rows, Index inputs,
                                    Index outputs);

// One row in every `period` consecutive ones, drawn at random from `seed`, is held out; the others train.
// A final group of fewer than `period` rows trains whole.
struct Split {
  SamplePtr training, held_out;
};
[[nodiscard]] Split split(SamplePtr source, Index period, std::uint64_t seed);

// The same samples in other coordinates: x' = P (x - mu), y' = D (y - nu) with D diagonal.
struct AffineMap {
  Matrix P;   // r x d
  Vector mu;  // d
  Vector D;   // m, the diagonal
  Vector nu;  // m
};
[[nodiscard]] SamplePtr affine(SamplePtr source, AffineMap map);

// The same inputs with the outputs changed by `change(x, y)`, which is given every block's inputs (rows x d)
// and outputs (rows x m) and may change the outputs. Used to show residuals as outputs. Must be thread-safe.
using OutputChange = std::function<void(const Eigen::Ref<const RowMatrix>&, RowMatrix&)>;
[[nodiscard]] SamplePtr with_outputs(SamplePtr source, OutputChange change);

// Those rows of the source, in memory.
[[nodiscard]] SamplePtr gathered(const SampleSource& source, std::span<const RowRun> runs);

// At most `count` rows of the source, in memory, in runs of 64 spread evenly over it.
[[nodiscard]] SamplePtr spread_subset(const SampleSource& source, Index count);

// The same with every run at a random place of its share of the source, drawn by `seed`: no period of the
// rows meets one of the runs.
[[nodiscard]] SamplePtr random_subset(const SampleSource& source, Index count, std::uint64_t seed);

// Every row of the source, in memory.
[[nodiscard]] SamplePtr load(const SampleSource& source);

}  // namespace exhume
#pragma GCC visibility pop
