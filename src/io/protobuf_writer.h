// Protocol buffers' wire format, as far as writing needs it.
//
//   field = tag (number << 3 | type), then: type 0 a varint, type 2 a length and bytes, type 5 four bytes
//
// A message inside a message is its bytes as a type-2 field.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace exhume {

class ProtobufMessage {
 public:
  void integer(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
  }
  void bytes(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_.append(value);
  }
  void message(int field, const ProtobufMessage& value) { bytes(field, value.bytes_); }
  void single(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof raw);
  }
  [[nodiscard]] const std::string& str() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace exhume
