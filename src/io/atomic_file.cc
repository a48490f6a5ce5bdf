#include "exhume/io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "exhume/base/error.h"
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

// Makes a rename durable. Some file systems cannot sync folders; then there is nothing more to do.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

void refuse_folder_as_target(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw DataError(
        fmt::format("{} is a folder and cannot be replaced by a file; choose another name", path.string()));
  }
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  refuse_folder_as_target(path_);
  // Not mkstemp: its files are private to the owner whatever the umask says.
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0;; ++attempt) {
    temporary_ = path_;
    temporary_ += fmt::format(".{}-{}.part", ::getpid(), counter++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    if (errno != EEXIST || attempt == 1000) refuse_folder(folder_of(path_), errno);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
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

void OutputFolder::replace(const std::string& name) { replaced_.push_back(folder_ / name); }

void OutputFolder::commit() {
  for (const auto& file : files_) file->sync();
  for (const auto& file : files_) refuse_folder_as_target(file->path());
  // Old files go first: whatever ends the program meanwhile, none of them lies beside a new certificate.
  for (const fs::path& old : replaced_) {
    const bool new_one =
        std::any_of(files_.begin(), files_.end(), [&](const auto& f) { return f->path() == old; });
    if (new_one) continue;
    if (::unlink(old.c_str()) != 0 && errno != ENOENT) refuse_write(old, errno);
  }
  for (const auto& file : files_) file->rename_only();
  sync_folder(folder_);
  committed_ = true;
}

}  // namespace exhume
