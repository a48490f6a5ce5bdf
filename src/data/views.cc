#include "data/views.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "exhume/error.h"

namespace exhume {
namespace {

class LinearView final : public SampleView {
 public:
  LinearView(SamplePtr base, Matrix P, Matrix Q)
      : SampleView(std::move(base)), P_(std::move(P)), Q_(std::move(Q)) {}
  Index inputs() const override { return P_.rows(); }
  Index outputs() const override { return Q_.rows(); }
  void read(Index first, Index count, SampleBlock& block) const override {
    SampleBlock raw;
    base_->read(first, count, raw);
    block.allocate(first, count, inputs(), outputs());
    block.own_x().noalias() = raw.x() * P_.transpose();
    block.own_y().noalias() = raw.y() * Q_.transpose();
  }

 private:
  Matrix P_, Q_;
};

class RowRange final : public SampleView {
 public:
  RowRange(SamplePtr base, Index first, Index count)
      : SampleView(std::move(base)), first_(first), count_(count) {}
  Index rows() const override { return count_; }
  void read(Index first, Index count, SampleBlock& block) const override {
    SampleBlock raw;
    base_->read(first_ + first, count, raw);
    block.allocate(first, count, inputs(), outputs());
    block.own_x() = raw.x();
    block.own_y() = raw.y();
  }

 private:
  void below(Index first, Index count, std::vector<RowRun>& runs) const override {
    runs.push_back({first_ + first, count});
  }
  Index first_, count_;
};

class MirroredView final : public SampleView {
 public:
  MirroredView(SamplePtr base, SamplePtr mirror) : SampleView(std::move(base)), mirror_(std::move(mirror)) {}
  Index rows() const override { return 2 * base_->rows(); }
  void read(Index first, Index count, SampleBlock& block) const override {
    block.allocate(first, count, inputs(), outputs());
    if (count == 0) return;
    const auto [begin, size] = span_of(first, count);
    SampleBlock original, mirror;
    base_->read(begin, size, original);
    mirror_->read(begin, size, mirror);
    for (Index i = 0; i < count; ++i) {
      const Place at = place(first + i);
      const Index from = at.row - begin;
      if (at.turned) {
        block.own_x().row(i) = -original.x().row(from);
        block.own_y().row(i) = mirror.y().row(from);
      } else {
        block.own_x().row(i) = original.x().row(from);
        block.own_y().row(i) = original.y().row(from);
      }
    }
  }

 private:
  struct Place {
    Index row;
    bool turned;
  };
  // Rows of the base that rows [first, first + count) are made of.
  RowRun span_of(Index first, Index count) const {
    const Index begin = place(first - first % 4).row;
    const Index last = std::min(first + count - 1 + 3 - (first + count - 1) % 4, rows() - 1);
    return {begin, place(last).row + 1 - begin};
  }
  void below(Index first, Index count, std::vector<RowRun>& runs) const override {
    runs.push_back(span_of(first, count));
  }
  Place place(Index r) const {
    const Index left = base_->rows() - r / 4 * 2;  // rows from this group on
    if (left == 1) return {base_->rows() - 1, r % 4 == 1};
    return {r / 4 * 2 + r % 2, r % 4 >= 2};
  }

  SamplePtr mirror_;  // in this process
};

}  // namespace

SamplePtr linear_view(SamplePtr source, Matrix P, Matrix Q) {
  if (P.cols() != source->inputs() || Q.cols() != source->outputs()) {
    throw std::invalid_argument(
        fmt::format("linear_view: P has {} columns and Q has {}, but there are {} inputs and {} outputs",
                    P.cols(), Q.cols(), source->inputs(), source->outputs()));
  }
  return std::make_shared<LinearView>(std::move(source), std::move(P), std::move(Q));
}

SamplePtr row_range(SamplePtr source, Index first, Index count) {
  if (first < 0 || count < 0 || first + count > source->rows()) {
    throw std::invalid_argument(
        fmt::format("row_range: rows {} to {} of {} do not exist", first, first + count, source->rows()));
  }
  return std::make_shared<RowRange>(std::move(source), first, count);
}

SamplePtr mirrored_view(SamplePtr source, SamplePtr mirror_labels) {
  if (source->rows() != mirror_labels->rows() || source->outputs() != mirror_labels->outputs()) {
    throw DataError(
        fmt::format("the labels of the mirrored inputs have {} rows and {} columns, but the labels have {} "
                    "and {}; give one row for "
                    "every row of X, in the same order",
                    mirror_labels->rows(), mirror_labels->outputs(), source->rows(), source->outputs()));
  }
  return std::make_shared<MirroredView>(std::move(source), std::move(mirror_labels));
}

}  // namespace exhume
