// A file that many threads read at once, by position.
//
// Reads use pread: no shared cursor, and no mapping whose pages would count as the process's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace exhume {

class RandomAccessFile {
 public:
  // Throws DataError with the remedy: no such file, a folder, no permission, not a regular file.
  explicit RandomAccessFile(const std::filesystem::path& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }  // when it was opened
  // Exactly `size` bytes from `offset`; throws DataError if the file has become shorter.
  void read(std::uint64_t offset, void* out, std::uint64_t size) const;
  // The first `most` bytes, or all of a shorter file.
  [[nodiscard]] std::string head(std::uint64_t most) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace exhume
