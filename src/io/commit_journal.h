// The steps of a commit, on disk before the first of them is taken.
//
//   .exhume-commit:   "exhume commit 2"   { "remove" NAME FILE | "rename" TEMPORARY NAME FILE }
//
// A zero byte ends each of these texts; names are those of files in the folder itself, FILE is the inode
// number of the file to be removed and of the temporary. A journal that came with a folder from elsewhere,
// in an archive say, has others: its steps are not taken, so that a made-up one removes nothing. Renames
// are atomic one by one, not together. A program that is killed between two of them leaves its journal, and
// whoever opens the folder next takes the steps that are left. Commits into one folder wait for each other
// (FolderLock).
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
// Its steps that are still to be taken: those whose file is the one that was meant. Empty where there is no
// journal, and where it names anything outside the folder.
[[nodiscard]] std::optional<CommitJournal> find_journal(const std::filesystem::path& folder);
void remove_journal(const std::filesystem::path& folder);

// Holds other programs' commits into a folder off, until it is destroyed or the process ends. Where the file
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

// Takes the steps that a killed program left; the caller holds the lock. Throws DataError where one cannot be
// taken.
void finish_commit(const std::filesystem::path& folder);

}  // namespace exhume
