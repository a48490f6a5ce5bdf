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

#include "exhume/base/error.h"
#include "exhume/io/atomic_file.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJournal = ".exhume-commit";
constexpr const char* kMark = "exhume commit";

// Of a file directly in the folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

[[noreturn]] void refuse_step(const fs::path& path, int error) {
  throw DataError(
      fmt::format("{} was left half written by a program that was killed, and the rest cannot be done: {}; "
                  "make the folder "
                  "yours to write and try again",
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
  }
  for (const auto& [from, to] : journal.rename) {
    add("rename");
    add(from);
    add(to);
  }
  write_file(folder / kJournal, text);
}

std::optional<CommitJournal> find_journal(const fs::path& folder) {
  if (!has_journal(folder)) return std::nullopt;
  std::ifstream file(folder / kJournal, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> fields;
  for (std::size_t start = 0, end = 0; (end = text.find('\0', start)) != std::string::npos; start = end + 1)
    fields.push_back(text.substr(start, end - start));
  CommitJournal journal;
  if (fields.empty() || fields[0] != kMark) return std::nullopt;
  for (std::size_t i = 1; i < fields.size();) {
    if (fields[i] == "remove" && i + 1 < fields.size() && is_plain_name(fields[i + 1])) {
      journal.remove.push_back(fields[i + 1]);
      i += 2;
    } else if (fields[i] == "rename" && i + 2 < fields.size() && is_plain_name(fields[i + 2]) &&
               is_temporary_of(fields[i + 1], fields[i + 2])) {
      journal.rename.emplace_back(fields[i + 1], fields[i + 2]);
      i += 3;
    } else {
      return std::nullopt;
    }
  }
  return journal;
}

bool has_journal(const fs::path& folder) {
  struct stat about {};
  return ::lstat((folder / kJournal).c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

void remove_journal(const fs::path& folder) { ::unlink((folder / kJournal).c_str()); }

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

bool is_temporary_of(const std::string& temporary, const std::string& name) {
  constexpr std::string_view kEnding = ".part";
  std::string_view middle = temporary;
  if (!middle.starts_with(name + ".") || !middle.ends_with(kEnding)) return false;
  middle.remove_prefix(name.size() + 1);
  if (middle.size() <= kEnding.size()) return false;
  middle.remove_suffix(kEnding.size());
  const std::size_t dash = middle.find('-');
  return dash != std::string_view::npos && is_number(middle.substr(0, dash)) &&
         is_number(middle.substr(dash + 1));
}

void remove_leftovers(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code stop;
  for (fs::directory_iterator at(folder, stop), end; !stop && at != end; at.increment(stop)) {
    if (!is_temporary_of(at->path().filename().string(), path.filename().string())) continue;
    const int descriptor = ::open(at->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    struct stat about {};
    const bool free = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
                      ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    // Asked after the lock is ours: whoever held it has written its journal by now, or never will.
    if (free && !has_journal(folder)) ::unlink(at->path().c_str());
    ::close(descriptor);
  }
}

}  // namespace exhume
