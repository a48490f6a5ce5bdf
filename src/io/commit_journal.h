// The steps of a commit, on disk before the first of them is taken.
//
//   .exhume-commit:   "exhume commit"   { "remove" NAME | "rename" TEMPORARY NAME }      each text ended by a zero byte
//
// Renames are atomic one by one, not together. A program that is killed between two of them leaves its journal, and whoever
// opens the folder next takes the steps that are left: either none was taken or all are. Names are those of files in the
// folder itself. Commits into one folder wait for each other (FolderLock).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace exhume {

struct CommitJournal {
  std::vector<std::string> remove;
  std::vector<std::pair<std::string, std::string>> rename;  // from, to
};

// Whole and on disk when it returns. Throws as AtomicFile does.
void write_journal(const std::filesystem::path& folder, const CommitJournal& journal);
// Empty where there is none, or where it names anything outside the folder.
[[nodiscard]] std::optional<CommitJournal> find_journal(const std::filesystem::path& folder);
[[nodiscard]] bool has_journal(const std::filesystem::path& folder);
void remove_journal(const std::filesystem::path& folder);

// Holds other programs' commits into a folder off, from construction to destruction or the end of the process. Where the file
// system has no locks, it holds nothing.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// Takes the steps that a killed program left; the caller holds the lock. Throws DataError where a step cannot be taken.
void finish_commit(const std::filesystem::path& folder);

// Removes what killed programs left of temporaries of `path`: those that no process holds (AtomicFile locks its own) and that
// no journal needs.
void remove_leftovers(const std::filesystem::path& path);
// "NAME.<process>-<number>.part": the temporary of a file called NAME?
[[nodiscard]] bool is_temporary_of(const std::string& temporary, const std::string& name);

}  // namespace exhume
