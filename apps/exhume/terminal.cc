#include "terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "exhume/error.h"
#include "report/svg.h"

namespace exhume::cli {
namespace {

constexpr int kUsualColumns = 80;

std::function<void()>& output_hook() {
  static std::function<void()> hook;
  return hook;
}

}  // namespace

bool is_terminal(int descriptor) {
  const char* kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool has_colour(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && (no_color == nullptr || *no_color == '\0');
}

int columns(int descriptor) {
  struct winsize size = {};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

std::string toned(Tone tone, std::string_view text) {
  static const bool colour = has_colour(STDOUT_FILENO);
  if (!colour || tone == Tone::kPlain) return std::string(text);
  const char* code = "";
  switch (tone) {
    case Tone::kPlain:
      break;
    case Tone::kBold:
      code = "1";
      break;
    case Tone::kSoft:
      code = "2";
      break;
    case Tone::kGood:
      code = "1;32";
      break;
    case Tone::kWarn:
      code = "1;33";
      break;
    case Tone::kBad:
      code = "1;31";
      break;
  }
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string grouped(Index value) { return svg::group_thousands(fmt::format("{}", value)); }

std::string duration(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", 1000 * seconds);
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 99.5) return fmt::format("{:.1f} s", seconds);
  const Index whole = static_cast<Index>(std::llround(seconds));
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string shell_quoted(std::string_view word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

void hold_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is this one. Read-only: writing must fail, not vanish.
    if (::fcntl(number, F_GETFD) == -1 && ::open("/dev/null", O_RDONLY) < 0) return;
  }
}

void before_output(std::function<void()> what) { output_hook() = std::move(what); }

void put(std::string_view text) {
  if (output_hook()) output_hook()();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw ResourceError("standard output cannot be written to; is it closed, or its disk full?");
  }
}

std::string printable(std::string_view text) { return svg::printable(text); }

void complain(std::string_view sentence) {
  std::string line = "exhume: " + printable(sentence);
  while (line.back() == ' ') line.pop_back();
  if (line.back() != '.' && line.back() != '?' && line.back() != '!') line += '.';
  line += '\n';
  if (output_hook()) output_hook()();
  std::fputs(line.c_str(), stderr);
}

}  // namespace exhume::cli
