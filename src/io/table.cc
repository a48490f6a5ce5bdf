#include "io/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "exhume/error.h"

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

class SplitSamples final : public SampleSource {
 public:
  SplitSamples(TablePtr table, std::vector<Index> outputs)
      : table_(std::move(table)), outputs_(std::move(outputs)) {
    for (Index j = 0; j < table_->cols(); ++j) {
      if (std::find(outputs_.begin(), outputs_.end(), j) == outputs_.end()) inputs_.push_back(j);
    }
  }
  Index rows() const override { return table_->rows(); }
  Index inputs() const override { return static_cast<Index>(inputs_.size()); }
  Index outputs() const override { return static_cast<Index>(outputs_.size()); }
  void read(Index first, Index count, SampleBlock& block) const override {
    if (first < 0 || count < 0 || count > rows() - first) {
      throw std::invalid_argument(fmt::format("samples: rows [{}, {} + {}) were asked for, there are {}",
                                              first, first, count, rows()));
    }
    RowMatrix all(count, table_->cols());
    table_->read(first, count, all.data());
    block.allocate(first, count, inputs(), outputs());
    for (Index j = 0; j < inputs(); ++j) block.own_x().col(j) = all.col(inputs_[static_cast<std::size_t>(j)]);
    for (Index j = 0; j < outputs(); ++j)
      block.own_y().col(j) = all.col(outputs_[static_cast<std::size_t>(j)]);
  }

 private:
  TablePtr table_;
  std::vector<Index> outputs_, inputs_;
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

SamplePtr split_samples(TablePtr table, std::vector<Index> outputs) {
  refuse_empty(*table);
  if (static_cast<Index>(outputs.size()) >= table->cols()) {
    throw DataError(fmt::format("{} has {} column{}, all of them outputs; there must be inputs too",
                                table->name(), table->cols(), table->cols() == 1 ? "" : "s"));
  }
  return std::make_shared<SplitSamples>(std::move(table), std::move(outputs));
}

RowMatrix read_all(const Table& table) {
  RowMatrix all(table.rows(), table.cols());
  table.read(0, table.rows(), all.data());
  return all;
}

}  // namespace exhume
