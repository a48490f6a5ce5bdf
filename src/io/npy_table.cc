// Blocks of rows out of a .npy file.
#include <fmt/format.h>

#include <stdexcept>

#include "exhume/error.h"
#include "io/finite.h"
#include "io/npy.h"
#include "io/random_access_file.h"
#include "io/shape.h"

namespace exhume {
namespace {

class NpyTable final : public Table {
 public:
  explicit NpyTable(const std::filesystem::path& path)
      : file_(path), array_(parse_npy_header(file_.head(kNpyHeaderCap), file_.name())) {
    const std::uint64_t expected = array_.data_offset + array_.data_bytes();
    if (file_.size() < expected) {
      throw DataError(
          fmt::format("{} is cut off: it has {} bytes but its header promises {}; copy or save it again",
                      name(), file_.size(), expected));
    }
    if (file_.size() > expected) {
      throw DataError(fmt::format("{} has {} bytes after its array; it is damaged, so save it again", name(),
                                  file_.size() - expected));
    }
    const std::size_t dimensions = array_.shape.size();
    if (dimensions != 1 && dimensions != 2) {
      throw DataError(
          fmt::format("{} holds an array of {} dimensions, shape {}; reshape it to rows x columns", name(),
                      dimensions, show_shape(array_.shape)));
    }
    rows_ = array_.shape[0];
    cols_ = dimensions == 1 ? 1 : array_.shape[1];
  }

  const std::string& name() const override { return file_.name(); }
  Index rows() const override { return rows_; }
  Index cols() const override { return cols_; }
  std::string digest(const Control& control) const override { return file_.digest(control); }

  void read(Index first, Index count, double* out) const override {
    if (first < 0 || count < 0 || count > rows_ - first) {
      throw std::invalid_argument(fmt::format("{}: rows [{}, {} + {}) were asked for, there are {}", name(),
                                              first, first, count, rows_));
    }
    if (count == 0 || cols_ == 0) return;  // whatever the other extent claims
    if (array_.fortran_order) {
      read_columns(first, count, out);
    } else {
      read_rows(first, count, out);
    }
    const auto total = static_cast<std::size_t>(count * cols_);
    const std::size_t bad = first_not_finite(out, total);
    if (bad < total) {
      const Index at = static_cast<Index>(bad);
      throw DataError(fmt::format("{}: row {}, column {} (counting from 0) is {}; fill it or remove the row",
                                  name(), first + at / cols_, at % cols_, name_not_finite(out[bad])));
    }
  }

 private:
  void read_rows(Index first, Index count, double* out) const {
    const auto total = static_cast<std::size_t>(count * cols_);
    const std::uint64_t item = static_cast<std::uint64_t>(array_.dtype.size);
    const std::uint64_t offset = array_.data_offset + static_cast<std::uint64_t>(first * cols_) * item;
    if (array_.dtype.kind == NpyType::Kind::kFloat && item == 8 && !array_.dtype.big_endian) {
      file_.read(offset, out, total * item);
      return;
    }
    std::string bytes(total * item, '\0');
    file_.read(offset, bytes.data(), bytes.size());
    const std::size_t bad = npy_to_double(array_.dtype, bytes.data(), total, out);
    if (bad < total) refuse_inexact(first + static_cast<Index>(bad) / cols_, static_cast<Index>(bad) % cols_);
  }

  void read_columns(Index first, Index count, double* out) const {
    const std::uint64_t item = static_cast<std::uint64_t>(array_.dtype.size);
    std::string bytes(static_cast<std::size_t>(count) * item, '\0');
    for (Index j = 0; j < cols_; ++j) {
      file_.read(array_.data_offset + static_cast<std::uint64_t>(j * rows_ + first) * item, bytes.data(),
                 bytes.size());
      const auto bad =
          static_cast<Index>(npy_to_double(array_.dtype, bytes.data(), static_cast<std::size_t>(count),
                                           out + j, static_cast<std::size_t>(cols_)));
      if (bad < count) refuse_inexact(first + bad, j);
    }
  }

  [[noreturn]] void refuse_inexact(Index row, Index column) const {
    throw DataError(fmt::format(
        "{}: row {}, column {} (counting from 0) is a whole number beyond 2^53, which double precision "
        "cannot hold exactly; rescale the column",
        name(), row, column));
  }

  RandomAccessFile file_;
  NpyArray array_;
  Index rows_ = 0, cols_ = 0;
};

}  // namespace

TablePtr open_npy(const std::filesystem::path& path) { return std::make_shared<NpyTable>(path); }

}  // namespace exhume
