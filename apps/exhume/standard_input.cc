#include "standard_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "exhume/error.h"

namespace exhume::cli {
namespace {

constexpr std::size_t kPiece = 1 << 20;

// Refuses formats that are no table as text, told by their first bytes.
void refuse_other_formats(std::string_view head) {
  const char* what = head.starts_with("\x93NUMPY")               ? "a .npy file"
                     : head.starts_with("PK\x03\x04")            ? "an archive"
                     : head.find('\0') != std::string_view::npos ? "binary"
                                                                 : nullptr;
  if (what != nullptr) {
    throw DataError(fmt::format(
        "standard input is {}; only tables as text are read from there, so save it and give its name", what));
  }
}

}  // namespace

StandardInput::StandardInput(const Control& control) {
  path_ = (std::filesystem::temp_directory_path() / "exhume-XXXXXX").string();
  const int file = ::mkstemp(path_.data());
  if (file < 0) {
    throw ResourceError(fmt::format("standard input cannot be copied to {}: {}", path_,
                                    std::generic_category().message(errno)));
  }
  try {
    copy(file, control);
  } catch (...) {
    ::close(file);
    ::unlink(path_.c_str());
    throw;
  }
  ::close(file);
}

StandardInput::~StandardInput() { ::unlink(path_.c_str()); }

void StandardInput::copy(int to, const Control& control) {
  std::vector<char> piece(kPiece);
  std::uint64_t total = 0;
  while (true) {
    control.check();
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw DataError(
          fmt::format("standard input cannot be read: {}", std::generic_category().message(errno)));
    }
    if (got == 0) break;
    if (total == 0) refuse_other_formats({piece.data(), static_cast<std::size_t>(got)});
    total += static_cast<std::uint64_t>(got);
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(to, piece.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        throw ResourceError(fmt::format("standard input does not fit into {}: {}", path_,
                                        std::generic_category().message(errno)));
      }
      done += put;
    }
  }
  if (total == 0) throw DataError("standard input is empty; give a table as text, one row per line");
}

}  // namespace exhume::cli
