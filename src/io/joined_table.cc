#include "io/joined_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "exhume/error.h"
#include "io/digest.h"

namespace exhume {
namespace {

class JoinedTable final : public Table {
 public:
  JoinedTable(std::vector<TablePtr> tables, std::string name)
      : tables_(std::move(tables)), name_(std::move(name)) {
    for (const TablePtr& table : tables_) {
      if (table->cols() != tables_[0]->cols()) {
        throw DataError(fmt::format(
            "{}: {} has {} columns but {} has {}; the files of a folder, a pattern or a list are one "
            "table and have the same columns",
            name_, tables_[0]->name(), tables_[0]->cols(), table->name(), table->cols()));
      }
      first_.push_back(rows_);
      rows_ += table->rows();
    }
  }

  const std::string& name() const override { return name_; }
  Index rows() const override { return rows_; }
  Index cols() const override { return tables_[0]->cols(); }
  std::vector<std::string> names() const override { return tables_[0]->names(); }

  void read(Index first, Index count, double* out) const override {
    auto at =
        static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), first) - first_.begin()) - 1;
    while (count > 0) {
      const Index from = first - first_[at], size = std::min(count, tables_[at]->rows() - from);
      if (size > 0) tables_[at]->read(from, size, out);
      out += size * cols();
      first += size;
      count -= size;
      ++at;
    }
  }

  std::string digest(const Control& control) const override {
    std::string lines;
    for (const TablePtr& table : tables_) lines += table->digest(control) + "\n";
    return sha256(lines);
  }

 private:
  std::vector<TablePtr> tables_;
  std::string name_;
  std::vector<Index> first_;  // row of the whole where each begins
  Index rows_ = 0;
};

}  // namespace

TablePtr joined_tables(std::vector<TablePtr> tables, const std::string& name) {
  if (tables.size() == 1) return tables[0];
  return std::make_shared<JoinedTable>(std::move(tables), name);
}

}  // namespace exhume
