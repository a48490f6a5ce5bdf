// A comparison for a terminal.
#pragma once

#include <string>
#include <vector>

#include "exhume/compare.h"

namespace exhume::cli {

[[nodiscard]] std::string compare_text(const CompareResult& found);
[[nodiscard]] std::string written_text(const std::string& folder, const std::vector<std::string>& names);

}  // namespace exhume::cli
