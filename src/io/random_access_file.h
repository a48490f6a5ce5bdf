// A file that many threads read at once, by position.
//
// Reads use pread: no shared cursor, and no mapping whose pages would count as the process's memory. Bytes
// are hashed while they are read, so that the digest is that of the bytes that were used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "exhume/control.h"
#include "io/sha256.h"

namespace exhume {

class RandomAccessFile {
 public:
  // Throws DataError with the remedy: no such file, a folder, no permission, not a regular file.
  // Messages call it `shown` where that is not empty.
  explicit RandomAccessFile(const std::filesystem::path& path, const std::string& shown = "");
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }  // when it was opened
  // Exactly `size` bytes from `offset`; throws DataError if the file has become shorter.
  void read(std::uint64_t offset, void* out, std::uint64_t size) const;
  // The first `most` bytes, or all of a shorter file.
  [[nodiscard]] std::string head(std::uint64_t most) const;
  // SHA-256 of the whole file; reads only what nobody has read yet. Throws DataError where the file was
  // changed since it was opened.
  [[nodiscard]] std::string digest(const Control& control = {}) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::int64_t changed_[2] = {0, 0};  // time of the last change: seconds, nanoseconds
  std::unique_ptr<RunningDigest> hash_ = std::make_unique<RunningDigest>();

  void read_plain(std::uint64_t offset, char* to, std::uint64_t size) const;
};

}  // namespace exhume
