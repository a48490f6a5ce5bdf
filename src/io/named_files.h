// The files that a name stands for.
//
//     x-*.npy            all that match, in the order of their numbers: x-2.npy before x-10.npy
//     parts/             all tables in a folder, in that order
//     a.npy,b.npy        a list, as it stands
#pragma once

#include <filesystem>
#include <vector>

namespace exhume {

// The name itself, where it is that of a file or of nothing at all. Throws DataError where a pattern or a
// folder has none.
[[nodiscard]] std::vector<std::filesystem::path> files_named(const std::filesystem::path& name);

}  // namespace exhume
