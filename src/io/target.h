// Which columns of one table are outputs.
#pragma once

#include <string>
#include <vector>

#include "io/table.h"

namespace exhume {

// Columns by name, or by number; nothing said: the last column.
struct Target {
  std::vector<std::string> names;
  std::vector<Index> columns;  // from 0; looked at where there are no names

  [[nodiscard]] bool given() const { return !names.empty() || !columns.empty(); }
};

// "y1,y2", with quotes around a name that has a comma: "\"a,b\",c". Throws std::invalid_argument for an empty
// name.
[[nodiscard]] Target parse_target(const std::string& text);

// The columns, from 0, in the order in which they are named. In a table without a header a name is the
// column's number, counted from 1 as editors do. Throws DataError for a name that no column has, that several
// have, or that is given twice.
[[nodiscard]] std::vector<Index> target_columns(const Target& target, const Table& table);

}  // namespace exhume
