// The fields of an ONNX file, read back without ONNX.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace exhume::testing {

// A reader of the wire format, naive on purpose: field number -> values in order; varints as text.
inline std::multimap<int, std::string> fields(std::string_view bytes) {
  std::multimap<int, std::string> found;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.size()) {
    const std::uint64_t tag = varint();
    const int field = static_cast<int>(tag >> 3);
    if ((tag & 7) == 0) {
      found.emplace(field, std::to_string(varint()));
    } else if ((tag & 7) == 2) {
      const std::uint64_t size = varint();
      found.emplace(field, bytes.substr(at, size));
      at += size;
    } else {
      found.emplace(field, bytes.substr(at, 4));
      at += 4;
    }
  }
  return found;
}

inline std::string one(const std::multimap<int, std::string>& message, int field) {
  EXPECT_EQ(message.count(field), 1u) << "field " << field;
  const auto found = message.find(field);
  return found == message.end() ? "" : found->second;
}

inline std::vector<std::string> all(const std::multimap<int, std::string>& message, int field) {
  std::vector<std::string> values;
  const auto [first, last] = message.equal_range(field);
  for (auto it = first; it != last; ++it) values.push_back(it->second);
  return values;
}

}  // namespace exhume::testing
