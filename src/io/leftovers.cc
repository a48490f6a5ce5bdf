#include "io/leftovers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <system_error>

namespace exhume {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool has_journal(const fs::path& folder) {
  struct stat about {};
  return ::lstat((folder / kCommitJournal).c_str(), &about) == 0 && S_ISREG(about.st_mode);
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
