#include "io/line_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "exhume/error.h"

namespace exhume {
namespace {

constexpr std::uint64_t kStep = std::uint64_t{1} << 18;
constexpr std::size_t kLongestLine = std::size_t{1} << 28;

}  // namespace

bool LineReader::next(std::string_view& line) {
  std::size_t searched = used_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    const bool last = end == std::string::npos && next_ == file_.size();
    if (last && used_ == buffer_.size()) return false;
    if (end != std::string::npos || last) {
      const std::size_t stop = last ? buffer_.size() : end;
      line = std::string_view(buffer_).substr(used_, stop - used_);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      const std::size_t taken = stop - used_ + (last ? 0 : 1);
      used_ += taken;
      start_ += taken;
      return true;
    }
    buffer_.erase(0, used_);
    used_ = 0;
    searched = buffer_.size();
    if (searched > kLongestLine) {
      throw ResourceError(
          fmt::format("{} has a line of more than {} MiB; check that it is a text table with one "
                      "row per line",
                      file_.name(), kLongestLine >> 20));
    }
    const std::uint64_t more = std::min(kStep, file_.size() - next_);
    buffer_.resize(searched + static_cast<std::size_t>(more));
    file_.read(next_, buffer_.data() + searched, more);
    next_ += more;
  }
}

}  // namespace exhume
