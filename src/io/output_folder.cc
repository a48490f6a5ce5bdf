#include "io/output_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "exhume/error.h"
#include "io/commit_journal.h"
#include "io/error_words.h"
#include "io/leftovers.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

}  // namespace

OutputFolder::OutputFolder(fs::path folder) : folder_(std::move(folder)) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  for (fs::path at = fs::absolute(folder_).lexically_normal(); !at.empty() && !fs::exists(at, ignored);
       at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at);
    if (at == at.parent_path()) break;
  }
  while (!missing.empty()) {
    if (::mkdir(missing.back().c_str(), 0777) == 0) {
      made_.push_back(missing.back());
    } else if (errno != EEXIST) {
      const int error = errno;
      for (; !made_.empty(); made_.pop_back()) ::rmdir(made_.back().c_str());
      throw DataError(fmt::format("the folder {} cannot be made: {}; choose a place that is yours to write",
                                  folder_.string(), reason(error)));
    }
    missing.pop_back();
  }
  if (!fs::is_directory(folder_, ignored)) {
    throw DataError(fmt::format("{} is a file, not a folder; choose another name", folder_.string()));
  }
  settle_folder(folder_);
}

OutputFolder::~OutputFolder() {
  files_.clear();
  if (committed_) return;
  // rmdir refuses folders that are not empty, so nobody else's files are at risk.
  for (; !made_.empty(); made_.pop_back()) ::rmdir(made_.back().c_str());
}

AtomicFile& OutputFolder::open(const std::string& name) {
  return *files_.emplace_back(std::make_unique<AtomicFile>(folder_ / name));
}

void OutputFolder::add(const std::string& name, std::string_view bytes) { open(name).write(bytes); }

void OutputFolder::replace(const std::string& name) {
  remove_leftovers(folder_ / name);
  replaced_.push_back(name);
}

void OutputFolder::lock() {
  if (lock_) return;
  lock_ = std::make_unique<FolderLock>(folder_);
  finish_commit(folder_);
}

void OutputFolder::commit() {
  for (const auto& file : files_) file->sync();
  for (const auto& file : files_) file->check_target();
  lock();
  CommitJournal journal;
  for (const auto& file : files_) {
    journal.rename.emplace_back(file->temporary_name(), file->path().filename().string());
    std::erase(replaced_, journal.rename.back().second);
  }
  for (const std::string& old : replaced_) {
    struct stat about {};
    if (::lstat((folder_ / old).c_str(), &about) == 0) journal.remove.push_back(old);
  }
  take(journal);
  sync_folder(folder_);
  remove_journal(folder_);
  lock_.reset();
  committed_ = true;
}

void OutputFolder::take(const CommitJournal& journal) {
  // One rename is atomic by itself.
  if (journal.remove.size() + journal.rename.size() > 1) write_journal(folder_, journal);
  bool begun = false;
  try {
    for (const std::string& old : journal.remove) {
      if (::unlink((folder_ / old).c_str()) != 0 && errno != ENOENT) {
        throw DataError(fmt::format("{} of an earlier run cannot be removed: {}; choose another folder",
                                    (folder_ / old).string(), reason(errno)));
      }
      begun = true;
    }
    for (const auto& file : files_) {
      file->rename_only();
      begun = true;
    }
  } catch (...) {
    // Either none of it was done, or the journal says what is left to do.
    if (!begun) remove_journal(folder_);
    for (const auto& file : files_) file->committed_ = file->committed_ || begun;
    throw;
  }
}

void settle_folder(const fs::path& folder) {
  if (!has_journal(folder)) return;
  const FolderLock lock(folder);
  finish_commit(folder);
}

}  // namespace exhume
