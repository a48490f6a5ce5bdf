// What is asked of every table that was opened: blocks agree with the whole, numbers are finite, and the
// digest is that of the bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "io/digest.h"
#include "io/table.h"
#include "target.h"

namespace exhume::fuzz {

inline constexpr Index kMostNumbers = Index{1} << 20;  // a table with more is only opened

inline void check_table(const Table& table, std::string_view bytes) {
  expect(table.rows() >= 0 && table.cols() >= 0, "a table of negative size");
  expect(table.digest({}) == sha256(bytes), "the digest is not that of the bytes");
  if (table.cols() > 0 && table.rows() > kMostNumbers / table.cols()) return;
  RowMatrix whole;
  if (!accepted([&] { whole = read_all(table); }) || whole.size() == 0) return;
  expect(whole.allFinite(), "a number that is not finite was handed out");
  const Index first = table.rows() / 3, count = std::min<Index>(table.rows() - first, 7);
  RowMatrix part(count, table.cols());
  table.read(first, count, part.data());
  expect(part == whole.middleRows(first, count), "a block differs from the same rows of the whole");
}

}  // namespace exhume::fuzz
