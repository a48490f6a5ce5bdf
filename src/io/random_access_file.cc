#include "io/random_access_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "exhume/error.h"
#include "io/error_words.h"

namespace exhume {
RandomAccessFile::RandomAccessFile(const std::filesystem::path& path, const std::string& shown)
    : name_(shown.empty() ? path.string() : shown) {
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      throw DataError(fmt::format("{} does not exist; check the path", name_));
    }
    throw DataError(fmt::format("{} cannot be opened: {}; check its permissions", name_, reason(error)));
  }
  struct stat about {};
  const bool known = ::fstat(descriptor_, &about) == 0;
  if (!known || !S_ISREG(about.st_mode)) {
    ::close(descriptor_);
    if (known && S_ISDIR(about.st_mode)) {
      throw DataError(fmt::format("{} is a folder; give a file in it", name_));
    }
    throw DataError(fmt::format(
        "{} is not a regular file, so it cannot be read twice; save the data to disk first", name_));
  }
  size_ = static_cast<std::uint64_t>(about.st_size);
  changed_[0] = about.st_mtim.tv_sec;
  changed_[1] = about.st_mtim.tv_nsec;
}

RandomAccessFile::~RandomAccessFile() { ::close(descriptor_); }

void RandomAccessFile::read(std::uint64_t offset, void* out, std::uint64_t size) const {
  read_plain(offset, static_cast<char*>(out), size);
  hash_->saw(offset, static_cast<const char*>(out), size);
}

void RandomAccessFile::read_plain(std::uint64_t offset, char* to, std::uint64_t size) const {
  while (size > 0) {
    // Linux moves at most 2 GiB a call.
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(size, std::uint64_t{1} << 30));
    const ssize_t got = ::pread(descriptor_, to, step, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw DataError(
          fmt::format("{} cannot be read at byte {}: {}; check the disk", name_, offset, reason(errno)));
    }
    if (got == 0) {
      throw DataError(
          fmt::format("{} ended at byte {} while it was read; do not change it during a run", name_, offset));
    }
    to += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::uint64_t>(got);
  }
}

std::string RandomAccessFile::digest(const Control& control) const {
  std::string digits = hash_->finish(size_, [&](std::uint64_t offset, char* out, std::uint64_t count) {
    control.check();
    read_plain(offset, out, count);
  });
  struct stat about {};
  if (::fstat(descriptor_, &about) != 0 || static_cast<std::uint64_t>(about.st_size) != size_ ||
      about.st_mtim.tv_sec != changed_[0] || about.st_mtim.tv_nsec != changed_[1]) {
    throw DataError(fmt::format("{} was changed while it was read; do not change it during a run", name_));
  }
  return digits;
}

std::string RandomAccessFile::head(std::uint64_t most) const {
  std::string bytes(static_cast<std::size_t>(std::min(most, size_)), '\0');
  read(0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace exhume
