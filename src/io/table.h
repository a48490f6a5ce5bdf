// A table of numbers in a file: n rows of p columns, read block by block.
//
//   samples (x_i, y_i), i = 0..n-1   =   a table X, n x d, beside a table Y, n x m
//
// `read` is random access and thread-safe, and it hands out finite numbers only: a NaN or an infinity is a
// DataError that names the file, the row and the column. Tables in files keep nothing of the data in memory,
// so memory does not grow with n.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

class Table {
 public:
  virtual ~Table() = default;
  // As messages should call it: the path, as given.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual Index rows() const = 0;
  [[nodiscard]] virtual Index cols() const = 0;
  // Names of the columns, where the file has some: as many as there are columns, or none.
  [[nodiscard]] virtual std::vector<std::string> names() const { return {}; }
  // Writes rows [first, first + count), row-major, to out[0 .. count *
  // cols()). Thread-safe. Throws DataError.
  virtual void read(Index first, Index count, double* out) const = 0;
  // SHA-256 of the file's bytes, hashed while they are read; reads what nobody has asked for yet.
  [[nodiscard]] virtual std::string digest(const Control& control) const = 0;
};

using TablePtr = std::shared_ptr<const Table>;

// Row i of x beside row i of y. Throws DataError if the numbers of rows differ, or where a table has no rows
// or no columns.
[[nodiscard]] SamplePtr table_samples(TablePtr x, TablePtr y);

// Inputs and outputs out of one table: the columns `outputs` (from 0, all different), and all others. Throws
// DataError where no inputs are left.
[[nodiscard]] SamplePtr split_samples(TablePtr table, std::vector<Index> outputs);

// All of a table at once.
[[nodiscard]] RowMatrix read_all(const Table& table);

}  // namespace exhume
