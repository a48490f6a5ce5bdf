#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <system_error>

#include "terminal.h"

namespace exhume::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(200);  // between two drawings
constexpr auto kSentence = std::chrono::seconds(60);        // between two lines of a log
constexpr int kBar = 24, kLeastBar = 8, kMoving = 4;
constexpr int kStageWidth = 12, kLongestStage = 28;
// A rate is not to be believed before so much of a stage is done.
constexpr double kKnownRate = 0.02, kKnownSeconds = 1;

std::string bar(double fraction, int tick, int length) {
  const int full = static_cast<int>(std::lround(fraction * length));
  // How far the work is is not known: a piece moves to and fro.
  const int way = length - kMoving, at = tick % (2 * way);
  const int from = at < way ? at : 2 * way - at;
  std::string text;
  for (int i = 0; i < length; ++i)
    text += (fraction > 0 ? i < full : i >= from && i < from + kMoving) ? "█" : "░";
  return text;
}

std::string whole_seconds(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return whole < 100 ? fmt::format("{} s", whole) : fmt::format("{} min {} s", whole / 60, whole % 60);
}

// A deadline is that of the step: after it another route may be tried.
std::string left(const ProgressState& state) {
  if (state.fraction > kKnownRate && state.fraction < 1 && state.stage_elapsed > kKnownSeconds) {
    const double rest = state.stage_elapsed * (1 - state.fraction) / state.fraction;
    if (rest < state.seconds_left) return fmt::format(", about {} left", whole_seconds(rest));
  }
  if (!std::isfinite(state.seconds_left) || state.seconds_left <= 0) return "";
  return fmt::format(", step ends within {}", whole_seconds(state.seconds_left));
}

std::string best(const ProgressState& state) {
  if (state.units < 1) return "";
  return fmt::format("error {:.1e} with {} unit{}", state.error, state.units, state.units == 1 ? "" : "s");
}

}  // namespace

std::string progress_line(const ProgressState& state, int columns, int tick) {
  const std::string stage =
      fmt::format("{:<{}}", printable(state.stage.substr(0, kLongestStage)), kStageWidth);
  const std::string time = duration(state.elapsed), found = best(state), rest = left(state);
  const std::string percent = state.fraction > 0 ? fmt::format("  {:3.0f}%", 100 * state.fraction) : "";
  // Parts that do not fit are left out, the least important first. A letter of the bar has three bytes.
  const int room = columns - 1;
  const auto width = [](const std::string& text) { return static_cast<int>(text.size()); };
  int used = width(stage) + width(percent) + 2 + width(time);
  const bool with_found = !found.empty() && used + 2 + width(found) <= room;
  if (with_found) used += 2 + width(found);
  const bool with_rest = used + width(rest) <= room;
  if (with_rest) used += width(rest);
  const int length = std::min(kBar, room - used - 2);
  const bool with_bar = length >= kLeastBar;
  std::string line = stage;
  if (with_bar) line += "  " + bar(state.fraction, tick, length);
  line += percent;
  if (with_found) line += "  " + found;
  line += "  " + time;
  if (with_rest) line += rest;
  return with_bar || width(line) <= room ? line : line.substr(0, static_cast<std::size_t>(std::max(room, 0)));
}

std::string progress_sentence(const ProgressState& state) {
  std::string text = state.stage;
  if (state.fraction > 0) text += fmt::format(", {:.0f}%", 100 * state.fraction);
  if (const std::string found = best(state); !found.empty()) text += ", best " + found;
  return fmt::format("{}, after {}{}", text, duration(state.elapsed), left(state));
}

ProgressLine::ProgressLine(bool wanted)
    : terminal_(is_terminal(STDERR_FILENO)), colour_(has_colour(STDERR_FILENO)) {
  before_output([this] { clear(); });
  if (!wanted) return;
  try {
    thread_ = std::thread([this] { tick(); });
  } catch (const std::system_error&) {
    // No thread can be started: the work goes on without the line.
  }
}

ProgressLine::~ProgressLine() {
  before_output(nullptr);
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  clear();
}

void ProgressLine::show(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  const bool first = !told_;
  told_at_ = Clock::now();
  if (first || progress.stage != state_.stage || progress.fraction < state_.fraction) stage_start_ = told_at_;
  state_.stage = progress.stage;
  state_.fraction = std::isfinite(progress.fraction) ? std::clamp(progress.fraction, 0.0, 1.0) : 0;
  state_.error = progress.error;
  state_.units = progress.units;
  state_.seconds_left = progress.seconds_left;
  told_ = true;
  if (first && terminal_) wake_.notify_all();
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  told_ = false;
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void ProgressLine::tick() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (told_) draw();
    wake_.wait_for(lock, kInterval);
  }
}

// To be called with the lock held.
void ProgressLine::draw() {
  const Clock::time_point now = Clock::now();
  const auto seconds = [&](Clock::time_point from) {
    return std::chrono::duration<double>(now - from).count();
  };
  ProgressState state = state_;
  state.elapsed = seconds(start_);
  state.stage_elapsed = seconds(stage_start_);
  state.seconds_left -= seconds(told_at_);
  if (!terminal_) {
    if (now - said_at_ < kSentence) return;
    said_at_ = now;
    std::fputs(fmt::format("exhume: {}.\n", printable(progress_sentence(state))).c_str(), stderr);
    return;
  }
  std::string line = progress_line(state, columns(STDERR_FILENO), ticks_++);
  if (colour_) {
    const std::size_t first = std::min(line.find("█"), line.find("░"));
    const std::size_t last = std::max(line.rfind("█") + 1, line.rfind("░") + 1);
    if (first != std::string::npos) {
      line.insert(last + 2, "\033[0m");
      line.insert(first, "\033[36m");
    }
  }
  // The new line over the old, then the rest of the old: nothing flickers.
  std::fputs(fmt::format("\r{}\033[K", line).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace exhume::cli
