#include "exhume/io/table.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "exhume/base/error.h"

namespace exhume {
namespace {

class TableSamples final : public SampleSource {
 public:
  TableSamples(TablePtr x, TablePtr y) : x_(std::move(x)), y_(std::move(y)) {}
  Index rows() const override { return x_->rows(); }
  Index inputs() const override { return x_->cols(); }
  Index outputs() const override { return y_->cols(); }
  void read(Index first, Index count, SampleBlock& block) const override {
    if (first < 0 || count < 0 || count > rows() - first) {
      throw std::invalid_argument(fmt::format("samples: rows [{}, {} + {}) were asked for, there are {}",
                                              first, first, count, rows()));
    }
    block.allocate(first, count, inputs(), outputs());
    x_->read(first, count, block.own_x().data());
    y_->read(first, count, block.own_y().data());
  }

 private:
  TablePtr x_, y_;
};

void refuse_empty(const Table& table) {
  if (table.rows() == 0 || table.cols() == 0) {
    throw DataError(fmt::format("{} is empty: it has {} rows and {} columns; give at least one of each",
                                table.name(), table.rows(), table.cols()));
  }
}

}  // namespace

SamplePtr table_samples(TablePtr x, TablePtr y) {
  refuse_empty(*x);
  refuse_empty(*y);
  if (x->rows() != y->rows()) {
    throw DataError(
        fmt::format("{} has {} rows but {} has {}; row i of one must belong to row i of the other", x->name(),
                    x->rows(), y->name(), y->rows()));
  }
  return std::make_shared<TableSamples>(std::move(x), std::move(y));
}

RowMatrix read_all(const Table& table) {
  RowMatrix all(table.rows(), table.cols());
  table.read(0, table.rows(), all.data());
  return all;
}

}  // namespace exhume
