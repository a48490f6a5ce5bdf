// Damage done to a file at random: bytes overwritten, a piece cut out, a piece repeated, the end cut off.
#pragma once

#include <rapidcheck.h>

#include <string>

namespace exhume {

inline std::string corrupted(std::string bytes) {
  const int edits = *rc::gen::inRange(1, 4);
  for (int e = 0; e < edits && !bytes.empty(); ++e) {
    // Headers are where the parsers are: half of the damage goes to the first 128 bytes.
    const std::size_t reach =
        *rc::gen::arbitrary<bool>() ? std::min<std::size_t>(bytes.size(), 128) : bytes.size();
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, reach);
    const std::size_t length = std::min(*rc::gen::inRange<std::size_t>(1, 9), bytes.size() - at);
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        bytes[at] = static_cast<char>(*rc::gen::inRange(0, 256));
        break;
      case 1:
        bytes[at] = *rc::gen::elementOf(std::string("0123456789-{}[]()',:\" <>|fiuO\xff"));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

}  // namespace exhume
