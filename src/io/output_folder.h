// Several files that appear together in one folder, or none of them.
//
//   temporaries, all on disk  ->  lock the folder  ->  journal  ->  remove old, rename new  ->  no journal
//
// The folder is made if need be. An error while writing leaves it as it was, and no folder where there was
// none. A program that is killed leaves all old files or all new ones: where it had begun to rename, the next
// one to open the folder renames the rest. Of two programs that commit at once, one comes after the other.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/atomic_file.h"

namespace exhume {

class FolderLock;      // src/io/commit_journal.h
struct CommitJournal;  // src/io/commit_journal.h

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

// Takes the steps that a program left which was killed while it committed into the folder. For whoever reads
// a folder that OutputFolder wrote. Throws DataError where there are some and they cannot be taken.
void settle_folder(const std::filesystem::path& folder);

}  // namespace exhume
