#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "terminal.h"

namespace exhume::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kBar = 24;

int columns() {
  struct winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(double fraction) {
  const int full = static_cast<int>(std::lround(fraction * kBar));
  std::string text;
  for (int i = 0; i < kBar; ++i) text += i < full ? "█" : "░";
  return text;
}

}  // namespace

ProgressLine::ProgressLine(bool wanted)
    : active_(wanted && is_terminal(STDERR_FILENO)), colour_(has_colour(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const Progress& progress) {
  if (!active_) return;
  const Clock::time_point now = Clock::now();
  // A new stage shows at once, unless the one before has not had its moment either.
  if (drawn_ && now - last_ < kInterval) return;
  last_ = now;
  drawn_ = true;
  const double fraction = std::isfinite(progress.fraction) ? std::clamp(progress.fraction, 0.0, 1.0) : 0;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string numbers = fmt::format("{:3.0f}%  {}", 100 * fraction, duration(elapsed));
  const int room = columns() - kBar - 24;
  std::string line = fmt::format("{:<16}", progress.stage.substr(0, 28));
  if (room > 8)
    line += fmt::format("  {}{}{}", colour_ ? "\033[36m" : "", bar(fraction), colour_ ? "\033[0m" : "");
  std::fputs(fmt::format("\r\033[K{}  {}", line, numbers).c_str(), stderr);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace exhume::cli
