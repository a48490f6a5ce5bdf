#include "target.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "exhume/error.h"

namespace exhume::fuzz {
namespace {

namespace fs = std::filesystem;

// A folder that goes when the process ends. In memory where there is such a place: inputs come by the
// thousand a second.
class Folder {
 public:
  Folder() {
    std::error_code ignored;
    const bool memory = fs::is_directory("/dev/shm", ignored) && ::access("/dev/shm", W_OK) == 0;
    std::string pattern = (memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "exhume-fuzz-XXXXXX";
    if (!::mkdtemp(pattern.data())) finding("there is no temporary folder");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void check_sentence(std::string_view words) {
  expect(words.size() > 10, "a refusal without words");
  expect(words.size() < 4096, "a refusal that is longer than a screen");
}

}  // namespace

std::vector<Target>& targets() {
  static std::vector<Target> list;
  return list;
}

void finding(std::string_view what) {
  std::fprintf(stderr, "finding: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void expect(bool holds, std::string_view otherwise) {
  if (!holds) finding(otherwise);
}

bool accepted(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const DataError& error) {
    check_sentence(error.what());
  } catch (const ResourceError& error) {
    check_sentence(error.what());
  }
  return false;
}

fs::path file_with(std::string_view bytes, std::string_view ending) {
  static const Folder folder;
  fs::path path = folder.path() / ("input." + std::string(ending));
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  expect(descriptor >= 0, "the input cannot be put into a file");
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    expect(done > 0, "the input cannot be put into a file");
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  ::close(descriptor);
  return path;
}

}  // namespace exhume::fuzz
