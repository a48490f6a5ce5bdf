// Files that appear whole or not at all.
//
//   open beside  ->  write  ->  fsync  ->  rename over the target  ->  fsync the folder
//
// Until commit() the target is untouched; if commit() is never reached (an exception, an error) the temporary
// is removed. What a killed program leaves is removed by the next that writes the same file. A folder that
// cannot be written to is a DataError naming the folder; a full disk is a ResourceError.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace exhume {

class Sha256;  // src/io/sha256.h

class AtomicFile {
 public:
  // Creates the temporary beside `path`.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(std::string_view bytes);
  // Hash what is written; to be said before the first write.
  void keep_digest();
  // SHA-256 of all that was written; nothing can be written after. Needs keep_digest().
  [[nodiscard]] std::string digest();
  // Everything to disk; nothing can be written after. commit() does it where the caller did not.
  void sync();
  // Renames the temporary to `path`. Once.
  void commit();

 private:
  friend class OutputFolder;
  void check_target() const;  // throws DataError where it is a folder
  void put(std::string_view bytes);
  void rename_only();
  [[nodiscard]] std::string temporary_name() const;

  std::filesystem::path path_, temporary_;
  std::string buffer_, digits_;
  std::unique_ptr<Sha256> hash_;
  int descriptor_ = -1;
  int lock_ = -1;  // held until the rename: no leftover
  bool committed_ = false;
};

void write_file(const std::filesystem::path& path, std::string_view bytes);

// Makes renames in a folder durable. Some file systems cannot sync folders; then there is nothing more to do.
void sync_folder(const std::filesystem::path& folder);

}  // namespace exhume
