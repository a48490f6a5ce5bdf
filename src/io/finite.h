// Finding the first NaN or infinity among many numbers, at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace exhume {

// The position of the first value that is NaN or infinite, or `count` where all are finite.
[[nodiscard]] inline std::size_t first_not_finite(const double* values, std::size_t count) {
  constexpr std::uint64_t kExponent = 0x7ff0000000000000u;
  constexpr std::size_t kRun = 1024;  // long enough to vectorise, short enough to search again
  const auto bad = [](double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return (bits & kExponent) == kExponent;
  };
  for (std::size_t start = 0; start < count; start += kRun) {
    const std::size_t end = count - start < kRun ? count : start + kRun;
    bool any = false;
    for (std::size_t i = start; i < end; ++i) any |= bad(values[i]);
    if (!any) continue;
    for (std::size_t i = start; i < end; ++i) {
      if (bad(values[i])) return i;
    }
  }
  return count;
}

// "NaN", "infinity" or "-infinity".
[[nodiscard]] inline const char* name_not_finite(double value) {
  return value != value ? "NaN" : value > 0 ? "infinity" : "-infinity";
}

}  // namespace exhume
