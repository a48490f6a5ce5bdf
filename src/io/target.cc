#include "io/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "exhume/error.h"
#include "io/csv_cell.h"

namespace exhume {
namespace {

constexpr std::size_t kNamesShown = 20;

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesShown) list += fmt::format(" and {} more", names.size() - kNamesShown);
  return list;
}

Index column_number(const std::string& text, const Table& table) {
  Index number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > table.cols()) {
    throw DataError(
        fmt::format("target '{}' is no column: {} has no header, so columns are numbers from 1 to {}", text,
                    table.name(), table.cols()));
  }
  return number - 1;
}

Index column_named(const std::string& name, const std::vector<std::string>& names, const Table& table) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw DataError(
        fmt::format("target '{}' is no column of {}; there are {}", name, table.name(), list_of(names)));
  }
  if (std::find(found + 1, names.end(), name) != names.end()) {
    throw DataError(fmt::format("target '{}' is the name of several columns of {}; give each its own", name,
                                table.name()));
  }
  return found - names.begin();
}

}  // namespace

Target parse_target(const std::string& text) {
  Target target;
  for_each_cell(text, ',', true, [&](std::string_view cell) {
    target.names.push_back(unquoted(cell));
    if (target.names.back().empty())
      throw std::invalid_argument(fmt::format("target is '{}', but names columns: y, or y1,y2", text));
  });
  return target;
}

std::vector<Index> target_columns(const Target& target, const Table& table) {
  if (!target.given()) return {table.cols() - 1};
  std::vector<Index> columns = target.names.empty() ? target.columns : std::vector<Index>();
  const std::vector<std::string> names = table.names();
  for (const std::string& name : target.names)
    columns.push_back(names.empty() ? column_number(name, table) : column_named(name, names, table));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0 || columns[i] >= table.cols()) {
      throw DataError(fmt::format("column {} is a target, but {} has {} columns", columns[i] + 1,
                                  table.name(), table.cols()));
    }
    if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i), columns[i]) !=
        columns.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw DataError(fmt::format("column {} of {} is a target twice", columns[i] + 1, table.name()));
    }
  }
  return columns;
}

}  // namespace exhume
