// One cell of a text table: what it is, and its number if it is one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace exhume {

enum class CellKind {
  kNumber,
  kEmpty,
  kNotFinite,   // nan, inf, infinity, with any capitals
  kOutOfRange,  // 1e400, 1e-400
  kHex,         // 0x1p3
  kText,
};

struct Cell {
  CellKind kind = CellKind::kEmpty;
  double value = 0;
};

// Blanks around the cell and one pair of double quotes are taken off first.
[[nodiscard]] Cell parse_cell(std::string_view text);

[[nodiscard]] std::string_view trim(std::string_view text);
// A cell that is text, without blanks and quotes around it; two quotes within quotes stand for one.
[[nodiscard]] std::string unquoted(std::string_view text);

// Calls use(cell) for every cell of the line; the separator ' ' stands for runs of blanks and tabs. With
// `quotes`, a separator inside double quotes does not count.
template <class Use>
void for_each_cell(std::string_view line, char separator, bool quotes, const Use& use) {
  std::size_t start = 0;
  bool inside = false;
  if (separator == ' ') line = trim(line);
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size()) {
      if (quotes && line[i] == '"') inside = !inside;
      const bool splits = line[i] == separator || (separator == ' ' && line[i] == '\t');
      if (!splits || inside) continue;
    }
    use(line.substr(start, i - start));
    if (i < line.size() && separator == ' ') {
      while (line[i + 1] == ' ' || line[i + 1] == '\t') ++i;  // a trimmed line does not end in a blank
    }
    start = i + 1;
  }
}

}  // namespace exhume
