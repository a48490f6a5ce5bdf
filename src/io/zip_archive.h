// A zip file opened for reading, with the checks that make it safe to inflate from.
#pragma once

#include <zip.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/random_access_file.h"

namespace exhume {

struct ZipEntry {
  std::string name;
  std::uint64_t index = 0;
  std::uint64_t size = 0;  // inflated, by the central directory
};

class ZipArchive {
 public:
  // Throws DataError: not a zip, duplicated names, encryption, unknown methods, impossible sizes.
  explicit ZipArchive(const std::filesystem::path& path);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }
  // SHA-256 of the archive's bytes, hashed while they are read.
  [[nodiscard]] std::string digest() const { return reader_->file.digest(); }

  // Inflates one entry piece by piece.
  class Stream {
   public:
    Stream(const ZipArchive& archive, const ZipEntry& entry);
    // Up to `size` bytes; fewer only at the end. Throws DataError if the data are damaged.
    std::uint64_t read(char* out, std::uint64_t size);

   private:
    const ZipArchive& archive_;
    const ZipEntry& entry_;
    std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file_;
  };

 private:
  // What libzip reads through.
  struct Reader {
    RandomAccessFile file;
    std::uint64_t at = 0;
    zip_error_t error{};
    explicit Reader(const std::filesystem::path& path) : file(path) { zip_error_init(&error); }
  };
  static zip_int64_t serve(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command);

  std::string name_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> zip_;
  std::vector<ZipEntry> entries_;
};

}  // namespace exhume
