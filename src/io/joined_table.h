// Several files as one table: their rows one below the other.
//
// The digest is that of the files' digests, one per line.
#pragma once

#include <string>
#include <vector>

#include "io/table.h"

namespace exhume {

// Throws DataError where the numbers of columns differ.
[[nodiscard]] TablePtr joined_tables(std::vector<TablePtr> tables, const std::string& name);

}  // namespace exhume
