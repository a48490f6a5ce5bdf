// Tables as text: one row per line, numbers between separators.
//
// Opening reads the file once: it checks every cell, counts the rows and remembers where every 4096th row
// starts (8 bytes for 4096 rows, so memory hardly grows). `read` seeks there and parses again.
//
// Separator: semicolon, comma, tab or runs of white space, the first of these that the first line
// contains. A first line with a cell that is text is a header: it names the columns, those without a name by
// their number. A UTF-8 byte order mark, CRLF, blank lines at the end and a missing last newline are fine. A
// cell is a decimal number, perhaps with a sign, blanks around it or double quotes; text, an empty cell, nan,
// inf, hexadecimal and numbers outside the range of double precision are refused, and so are rows of
// different lengths, with line and column counted from 1 as editors do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "exhume/control.h"
#include "io/table.h"

namespace exhume {

// Throws DataError for anything above; Interrupted if control says so.
// Messages call the file `shown` where that is not empty.
[[nodiscard]] TablePtr open_csv(const std::filesystem::path& path, const Control& control = {},
                                const std::string& shown = "");

// Comma-separated, each number by its shortest decimal that reads back to the same double; `header`, if not
// empty, names the columns in a first line.
void write_csv(const std::filesystem::path& path, const Eigen::Ref<const RowMatrix>& values,
               const std::vector<std::string>& header = {});

}  // namespace exhume
