#include "io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "exhume/error.h"
#include "io/error_words.h"
#include "io/leftovers.h"
#include "io/sha256.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

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

// Locks a new temporary, which tells others that it is no leftover. False where one of them was quicker and
// removed it.
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
  check_target();
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

void AtomicFile::check_target() const {
  std::error_code ignored;
  if (fs::is_directory(path_, ignored)) {
    throw DataError(
        fmt::format("{} is a folder and cannot be replaced by a file; choose another name", path_.string()));
  }
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

}  // namespace exhume
