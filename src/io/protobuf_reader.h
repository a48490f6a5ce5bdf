// Protocol buffers' wire format, read without trusting it.
//
//   field = tag (number << 3 | type), then: 0 a varint, 1 eight bytes, 2 a length and bytes, 5 four bytes
//
// Nothing is copied: a field of bytes is a view of the message. Every length is checked against what is left
// before anything is looked at, groups (types 3 and 4, which nobody writes any more) are refused, and so is a
// number of more than 64 bits. Whatever is wrong is a DataError that names the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace exhume {

struct ProtobufField {
  int number = 0;
  int type = 0;
  std::uint64_t value = 0;  // of types 0, 1 and 5: the bits as they stand
  std::string_view bytes;   // of type 2

  [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(value); }
  [[nodiscard]] float single() const;
};

class ProtobufReader {
 public:
  ProtobufReader(std::string_view message, const std::string& file) : rest_(message), file_(file) {}

  // The next field; false at the end of the message.
  [[nodiscard]] bool next(ProtobufField& field);
  // A number without a tag, as packed runs hold them.
  [[nodiscard]] std::uint64_t varint();
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t size);

  std::string_view rest_;
  const std::string& file_;
};

// A repeated field of whole numbers, one at a time or packed, added to `list`.
void append_integers(const ProtobufField& field, const std::string& file, std::vector<std::int64_t>& list);
// Throws DataError where the field is not one of bytes.
[[nodiscard]] std::string_view bytes_of(const ProtobufField& field, const std::string& file);

}  // namespace exhume
