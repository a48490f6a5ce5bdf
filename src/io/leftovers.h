// What killed programs leave behind.
//
//   NAME.<process>-<number>.part   the temporary of a file NAME, while it is written (io/atomic_file.h)
//   .exhume-commit                 the journal of a commit that has begun (io/commit_journal.h)
#pragma once

#include <filesystem>
#include <string>

namespace exhume {

inline constexpr const char* kCommitJournal = ".exhume-commit";
[[nodiscard]] bool has_journal(const std::filesystem::path& folder);

// Is it the name of a temporary of a file called `name`?
[[nodiscard]] bool is_temporary_of(const std::string& temporary, const std::string& name);

// Removes temporaries of `path` that no process holds (AtomicFile locks its own) and that no journal needs.
void remove_leftovers(const std::filesystem::path& path);

}  // namespace exhume
