// Files with digests, edited and sealed again: a script of edits is what a fuzzer changes.
//
//     script: eight bytes an edit      place (4, over all bytes) | what (1) | value (3)
//
// A checksum keeps a fuzzer that changes bytes from everything behind it; whoever edits a file on purpose
// renews it.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace exhume::fuzz {

inline std::string edited(std::string bytes, std::string_view script) {
  constexpr std::size_t kEdit = 8, kMostEdits = 16;
  static const double kNumbers[] = {
      0,     -1, 1e308, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
      1e-320};
  static const std::int64_t kCounts[] = {
      0, -1, 1, 2, 7, std::int64_t{1} << 20, 1LL << 40, 1LL << 62, std::numeric_limits<std::int64_t>::min(),
      3, 4,  5};
  for (std::size_t e = 0; e < kMostEdits && script.size() >= kEdit && !bytes.empty(); ++e) {
    std::uint32_t place = 0;
    std::memcpy(&place, script.data(), sizeof place);
    const auto what = static_cast<std::uint8_t>(script[4]), value = static_cast<std::uint8_t>(script[5]),
               more = static_cast<std::uint8_t>(script[6]);
    script.remove_prefix(kEdit);
    const std::size_t at = place % bytes.size();
    const auto put = [&](const void* data) {
      const std::size_t word = at / 8 * 8 + (more & 1u) * (at % 8);  // aligned, or not
      if (word + 8 <= bytes.size()) std::memcpy(bytes.data() + word, data, 8);
    };
    switch (what % 6) {
      case 0:
        bytes[at] = static_cast<char>(value);
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1u << (value % 8)));
        break;
      case 2:
        put(&kNumbers[value % std::size(kNumbers)]);
        break;
      case 3:
        put(&kCounts[value % std::size(kCounts)]);
        break;
      case 4:
        bytes.erase(at, value);
        break;
      default:
        bytes.insert(at, bytes.substr(at, value));
    }
  }
  return bytes;
}

}  // namespace exhume::fuzz
