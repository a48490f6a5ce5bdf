#include "io/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace exhume {

std::optional<std::uint64_t> array_bytes(const std::vector<Index>& shape, std::uint64_t item) {
  std::uint64_t bytes = item;
  bool empty = false;
  for (const Index extent : shape) {
    if (extent == 0) empty = true;
    const auto factor = static_cast<std::uint64_t>(std::max<Index>(extent, 1));
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return empty ? 0 : bytes;
}

std::string show_shape(const std::vector<Index>& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", shape[i]);
  return text + ")";
}

std::string show_position(const std::vector<Index>& shape, std::uint64_t flat) {
  if (shape.empty()) return "";
  std::string text;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(shape[i]);
    text = fmt::format("{}{}{}", flat % extent, text.empty() ? "" : ", ", text);
    flat /= extent;
  }
  return "[" + text + "]";
}

}  // namespace exhume
