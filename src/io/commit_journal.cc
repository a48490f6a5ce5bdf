#include "io/commit_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "exhume/error.h"
#include "io/atomic_file.h"
#include "io/leftovers.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "exhume commit 2";

// Of a file directly in the folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

// The number by which the file system knows a file; empty where there is none.
std::string number_of_file(const fs::path& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 ? fmt::format("{}", about.st_ino) : std::string();
}

[[noreturn]] void refuse_step(const fs::path& path, int error) {
  throw DataError(
      fmt::format("{} was left half written by a program that was killed, and the rest cannot be done: {}; "
                  "make the folder yours to write and try again",
                  path.string(), std::generic_category().message(error)));
}

}  // namespace

void write_journal(const fs::path& folder, const CommitJournal& journal) {
  std::string text;
  const auto add = [&](const std::string& field) { text.append(field.c_str(), field.size() + 1); };
  add(kMark);
  for (const std::string& name : journal.remove) {
    add("remove");
    add(name);
    add(number_of_file(folder / name));
  }
  for (const auto& [from, to] : journal.rename) {
    add("rename");
    add(from);
    add(to);
    add(number_of_file(folder / from));
  }
  write_file(folder / kCommitJournal, text);
}

std::optional<CommitJournal> find_journal(const fs::path& folder) {
  if (!has_journal(folder)) return std::nullopt;
  std::ifstream file(folder / kCommitJournal, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> fields;
  for (std::size_t start = 0, end = 0; (end = text.find('\0', start)) != std::string::npos; start = end + 1)
    fields.push_back(text.substr(start, end - start));
  CommitJournal journal;
  if (fields.empty() || fields[0] != kMark) return std::nullopt;
  const auto is_meant = [&](const std::string& name, const std::string& number) {
    return !number.empty() && number_of_file(folder / name) == number;
  };
  for (std::size_t i = 1; i < fields.size();) {
    if (fields[i] == "remove" && i + 2 < fields.size() && is_plain_name(fields[i + 1])) {
      if (is_meant(fields[i + 1], fields[i + 2])) journal.remove.push_back(fields[i + 1]);
      i += 3;
    } else if (fields[i] == "rename" && i + 3 < fields.size() && is_plain_name(fields[i + 2]) &&
               is_temporary_of(fields[i + 1], fields[i + 2])) {
      if (is_meant(fields[i + 1], fields[i + 3])) journal.rename.emplace_back(fields[i + 1], fields[i + 2]);
      i += 4;
    } else {
      return std::nullopt;
    }
  }
  return journal;
}

void remove_journal(const fs::path& folder) { ::unlink((folder / kCommitJournal).c_str()); }

FolderLock::FolderLock(const fs::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void finish_commit(const fs::path& folder) {
  const std::optional<CommitJournal> journal = find_journal(folder);
  if (!journal) return;
  for (const std::string& name : journal->remove) {
    if (::unlink((folder / name).c_str()) != 0 && errno != ENOENT) refuse_step(folder / name, errno);
  }
  // A temporary that is gone was renamed before.
  for (const auto& [from, to] : journal->rename) {
    if (::rename((folder / from).c_str(), (folder / to).c_str()) != 0 && errno != ENOENT)
      refuse_step(folder / to, errno);
  }
  sync_folder(folder);
  remove_journal(folder);
}

}  // namespace exhume
