#include "exhume/io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "exhume/base/error.h"
#include "io/commit_journal.h"
#include "io/sha256.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::string reason(int error) { return std::generic_category().message(error); }

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

[[noreturn]] void refuse_folder(const fs::path& folder, int error) {
  if (error == ENOSPC || error == EDQUOT) {
    throw ResourceError(fmt::format(
        "there is no space left on the disk of the folder {}; free some or choose another", folder.string()));
  }
  throw DataError(
      fmt::format("the folder {} cannot be written to: {}; choose a folder that exists and is yours to write",
                  folder.string(), reason(error)));
}

[[noreturn]] void refuse_write(const fs::path& path, int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    throw ResourceError(fmt::format("{} cannot be written: {}; free some space or choose another folder",
                                    path.string(), reason(error)));
  }
  throw DataError(
      fmt::format("{} cannot be written: {}; choose another folder", path.string(), reason(error)));
}

void refuse_folder_as_target(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw DataError(
        fmt::format("{} is a folder and cannot be replaced by a file; choose another name", path.string()));
  }
}

// Locks a new temporary, which tells others that it is no leftover. False where one of them was quicker and removed it.
bool claim(int descriptor) {
  struct stat about {};
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return ::fstat(descriptor, &about) != 0 || about.st_nlink > 0;
}

}  // namespace

void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  refuse_folder_as_target(path_);
  remove_leftovers(path_);
  // Not mkstemp: its files are private to the owner whatever the umask says.
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0;; ++attempt) {
    temporary_ = path_;
    temporary_ += fmt::format(".{}-{}.part", ::getpid(), counter++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 && claim(descriptor_)) break;
    const int error = descriptor_ >= 0 ? EEXIST : errno;
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (error != EEXIST || attempt == 1000) refuse_folder(folder_of(path_), error);
  }
  lock_ = ::dup(descriptor_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (lock_ >= 0) ::close(lock_);
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) refuse_write(path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void AtomicFile::write(std::string_view bytes) {
  if (descriptor_ < 0 || !digits_.empty()) throw std::logic_error("AtomicFile: write after sync");
  if (hash_) hash_->add(bytes.data(), bytes.size());
  if (buffer_.size() + bytes.size() < kBufferBytes) {
    buffer_.append(bytes);
    return;
  }
  put(buffer_);
  buffer_.clear();
  put(bytes);
}

void AtomicFile::keep_digest() { hash_ = std::make_unique<Sha256>(); }

std::string AtomicFile::digest() {
  if (!hash_) throw std::logic_error("AtomicFile: no digest was kept");
  if (digits_.empty()) digits_ = hash_->digits();
  return digits_;
}

void AtomicFile::sync() {
  if (descriptor_ < 0) return;
  put(buffer_);
  buffer_ = {};
  // EINVAL: a file system without fsync.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) refuse_write(path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) refuse_write(path_, errno);
}

void AtomicFile::rename_only() {
  if (committed_) throw std::logic_error("AtomicFile: committed twice");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse_write(path_, errno);
  committed_ = true;
}

void AtomicFile::commit() {
  sync();
  rename_only();
  sync_folder(folder_of(path_));
}

std::string AtomicFile::temporary_name() const { return temporary_.filename().string(); }

void write_file(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

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
  for (const auto& file : files_) refuse_folder_as_target(file->path());
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
      if (::unlink((folder_ / old).c_str()) != 0 && errno != ENOENT) refuse_write(folder_ / old, errno);
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
