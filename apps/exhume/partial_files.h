// Files of sums that travel from site to site: read, merged, written.
#pragma once

#include <string>
#include <vector>

#include "fit/partial_sums.h"
#include "moments/partial_moments.h"

namespace exhume::cli {

// The name with this ending, added where it is missing.
[[nodiscard]] std::string with_ending(const std::string& name, const std::string& ending);

// One file, whole or not at all. Throws std::invalid_argument where it exists, unless `force`.
void write_new_file(const std::string& path, const std::string& bytes, bool force);

// Of one file; or those of several (names, patterns), merged in the order of their names.
[[nodiscard]] PartialMoments read_moments(const std::string& file);
[[nodiscard]] PartialMoments read_moments(const std::vector<std::string>& files);
[[nodiscard]] PartialSums read_sums(const std::vector<std::string>& files);

}  // namespace exhume::cli
