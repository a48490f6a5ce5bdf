// Files that appear whole or not at all.
//
//   open beside  ->  write  ->  fsync  ->  rename over the target  ->  fsync the folder
//
// Until commit() the target is untouched; if commit() is never reached (an exception, an error) the
// temporary is removed. What a killed program leaves is removed by the next that writes the same file. A folder that cannot be written to is a DataError naming the folder; a full
// disk is a ResourceError.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace exhume {

class Sha256;          // src/io/sha256.h
class FolderLock;      // src/io/commit_journal.h
struct CommitJournal;  // src/io/commit_journal.h

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

// Several files into one folder. The folder is made if need be. All temporaries are written and on disk
// before the first is renamed, so that an error while writing leaves the folder as it was, and no folder
// where there was none. A program that is killed leaves all old files or all new ones: where it had begun to rename, the next
// one to open the folder renames the rest (settle_folder). Of two programs that commit at once, one comes after the other.
class OutputFolder {
 public:
  explicit OutputFolder(std::filesystem::path folder);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  // A file to be written piece by piece; lives as long as the folder. Do not commit it alone.
  AtomicFile& open(const std::string& name);
  // A file with these bytes.
  void add(const std::string& name, std::string_view bytes);
  // A file of an earlier run that must not lie beside the new ones: it goes when they come, or stays where
  // they do not.
  void replace(const std::string& name);
  // No other program commits into the folder from now on until commit(), which does this itself if need be.
  void lock();
  void commit();

 private:
  void take(const CommitJournal& journal);

  std::filesystem::path folder_;
  std::vector<std::string> replaced_;
  std::vector<std::filesystem::path> made_;  // folders this object made, outermost first
  std::vector<std::unique_ptr<AtomicFile>> files_;
  std::unique_ptr<FolderLock> lock_;
  bool committed_ = false;
};

// Takes the steps that a program left which was killed while it committed into the folder. For whoever reads a folder that
// OutputFolder wrote. Throws DataError where there are some and they cannot be taken.
void settle_folder(const std::filesystem::path& folder);

// Makes renames in it durable. Some file systems cannot sync folders; then there is nothing more to do.
void sync_folder(const std::filesystem::path& folder);

}  // namespace exhume
