#include "io/csv.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "base/parallel.h"
#include "exhume/error.h"
#include "io/atomic_file.h"
#include "io/csv_cell.h"
#include "io/line_reader.h"
#include "io/random_access_file.h"

namespace exhume {
namespace {

constexpr Index kIndexEvery = kBlockRows;

char find_separator(std::string_view line) {
  for (const char candidate : {';', ',', '\t'}) {
    if (line.find(candidate) != std::string_view::npos) return candidate;
  }
  return ' ';
}

// At most 24 printable characters of a cell, for a message.
std::string show_cell(std::string_view text) {
  std::string shown;
  for (const char c : trim(text)) {
    if (shown.size() == 24) return shown + "...";
    shown += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return shown;
}

class CsvTable final : public Table {
 public:
  CsvTable(const std::filesystem::path& path, const Control& control, const std::string& shown)
      : file_(path, shown) {
    std::uint64_t start = 0;
    const std::string head = file_.head(3);
    if (head == "\xef\xbb\xbf") start = 3;
    if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) {
      throw DataError(fmt::format("{} is UTF-16 text; save it as UTF-8", name()));
    }
    LineReader lines(file_, start);
    std::string_view line;
    std::vector<double> row;
    Index number = 0, blank = 0;
    for (std::uint64_t offset = lines.offset(); lines.next(line); offset = lines.offset()) {
      ++number;
      if (trim(line).empty()) {
        if (blank == 0) blank = number;
        continue;
      }
      if (blank != 0) throw DataError(fmt::format("{}: line {} is empty; remove it", name(), blank));
      if (number == 1) {
        if (line.find('\r') != std::string_view::npos) {
          throw DataError(
              fmt::format("{} ends its lines with a carriage return alone; save it with line feeds", name()));
        }
        separator_ = find_separator(line);
        if (is_header(line)) {
          // numpy.savetxt marks its header as a comment.
          if (line.starts_with('#')) line.remove_prefix(1);
          for_each_cell(line, separator_, true, [&](std::string_view cell) {
            ++cols_;
            names_.push_back(unquoted(cell));
            if (names_.back().empty()) names_.back() = fmt::format("column {}", cols_);
          });
          first_line_ = 2;
          continue;
        }
        for_each_cell(line, separator_, false, [&](std::string_view) { ++cols_; });
      }
      if (rows_ % kIndexEvery == 0) {
        control.check();
        offsets_.push_back(offset);
      }
      row.resize(static_cast<std::size_t>(cols_));
      parse_row(line, number, row.data());
      ++rows_;
    }
    if (rows_ == 0)
      throw DataError(fmt::format("{} is empty: it holds no rows of numbers; give at least one", name()));
  }

  const std::string& name() const override { return file_.name(); }
  Index rows() const override { return rows_; }
  Index cols() const override { return cols_; }
  std::string digest(const Control& control) const override { return file_.digest(control); }
  std::vector<std::string> names() const override { return names_; }

  void read(Index first, Index count, double* out) const override {
    if (first < 0 || count < 0 || count > rows_ - first) {
      throw std::invalid_argument(fmt::format("{}: rows [{}, {} + {}) were asked for, there are {}", name(),
                                              first, first, count, rows_));
    }
    if (count == 0) return;
    Index row = first / kIndexEvery * kIndexEvery;
    LineReader lines(file_, offsets_[static_cast<std::size_t>(first / kIndexEvery)]);
    std::string_view line;
    for (; row < first + count; ++row) {
      if (!lines.next(line)) {
        throw DataError(
            fmt::format("{} has fewer rows than when it was opened; do not change it during a run", name()));
      }
      if (row >= first) parse_row(line, first_line_ + row, out + (row - first) * cols_);
    }
  }

 private:
  bool is_header(std::string_view line) const {
    bool text = false;
    for_each_cell(line, separator_, true, [&](std::string_view cell) {
      if (parse_cell(cell).kind == CellKind::kText) text = true;
    });
    return text;
  }

  // Line numbers count from 1; there are no blank lines between rows.
  void parse_row(std::string_view line, Index number, double* out) const {
    Index column = 0;
    for_each_cell(line, separator_, false, [&](std::string_view text) {
      const Cell cell = parse_cell(text);
      if (cell.kind != CellKind::kNumber) refuse(cell.kind, text, number, column + 1);
      if (column < cols_) out[column] = cell.value;
      ++column;
    });
    if (column != cols_) {
      throw DataError(fmt::format("{}: line {} has {} cells but line 1 has {}; give every line as many",
                                  name(), number, column, cols_));
    }
  }

  [[noreturn]] void refuse(CellKind kind, std::string_view text, Index line, Index column) const {
    const std::string place = fmt::format("{}: line {}, column {}", name(), line, column);
    const std::string cell = show_cell(text);
    switch (kind) {
      case CellKind::kEmpty:
        throw DataError(fmt::format("{} is empty; fill it or remove the line", place));
      case CellKind::kNotFinite:
        throw DataError(
            fmt::format("{} is '{}', not a finite number; fill it or remove the line", place, cell));
      case CellKind::kOutOfRange:
        throw DataError(fmt::format("{} is '{}', outside the range of double precision; rescale the column",
                                    place, cell));
      case CellKind::kHex:
        throw DataError(fmt::format("{} is '{}', a hexadecimal number; write it in decimal", place, cell));
      default:
        throw DataError(fmt::format("{} is '{}', which is not a number; {}", place, cell,
                                    cell.find(',') != std::string::npos
                                        ? "write decimals with a point, not a comma"
                                        : "replace it or remove the line"));
    }
  }

  RandomAccessFile file_;
  char separator_ = ',';
  Index rows_ = 0, cols_ = 0;
  Index first_line_ = 1;                // line of row 0
  std::vector<std::string> names_;      // of the columns, where there is a header
  std::vector<std::uint64_t> offsets_;  // of rows 0, 4096, 8192, ...
};

}  // namespace

TablePtr open_csv(const std::filesystem::path& path, const Control& control, const std::string& shown) {
  return std::make_shared<CsvTable>(path, control, shown);
}

void write_csv(const std::filesystem::path& path, const Eigen::Ref<const RowMatrix>& values,
               const std::vector<std::string>& header) {
  if (!header.empty() && static_cast<Index>(header.size()) != values.cols()) {
    throw std::invalid_argument(
        fmt::format("write_csv: {} names for {} columns", header.size(), values.cols()));
  }
  AtomicFile file(path);
  for (std::size_t j = 0; j < header.size(); ++j) {
    file.write(header[j]);
    file.write(j + 1 < header.size() ? "," : "\n");
  }
  char digits[32];  // the longest is 24: -2.2250738585072014e-308
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < values.cols(); ++j) {
      char* end = std::to_chars(digits, digits + sizeof digits - 1, values(i, j)).ptr;
      *end++ = j + 1 < values.cols() ? ',' : '\n';
      file.write({digits, static_cast<std::size_t>(end - digits)});
    }
  }
  file.commit();
}

}  // namespace exhume
