#include "io/protobuf_reader.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "exhume/error.h"

namespace exhume {
namespace {

static_assert(std::endian::native == std::endian::little, "fixed fields are read as they lie in the file");

constexpr int kVarint = 0, kEight = 1, kBytes = 2, kFour = 5;
constexpr std::uint64_t kLargestNumber = (1U << 29) - 1;  // of a field

[[noreturn]] void damaged(const std::string& file, std::string_view what) {
  throw DataError(fmt::format("{} {}; copy or save it again", file, what));
}

}  // namespace

float ProtobufField::single() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }

std::uint64_t ProtobufReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) damaged(file_, "is cut off inside a number");
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  damaged(file_, "holds a number of more than 64 bits, so it is damaged or of another format");
}

std::string_view ProtobufReader::take(std::uint64_t size) {
  if (size > rest_.size()) {
    damaged(file_, fmt::format("is cut off or of another format: a field claims {} bytes where {} are left",
                               size, rest_.size()));
  }
  const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(bytes.size());
  return bytes;
}

bool ProtobufReader::next(ProtobufField& field) {
  if (rest_.empty()) return false;
  const std::uint64_t tag = varint();
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number > kLargestNumber)
    damaged(file_, fmt::format("holds a field of number {}, which cannot be", number));
  field = {static_cast<int>(number), static_cast<int>(tag & 7), 0, {}};
  if (field.type == kVarint) {
    field.value = varint();
  } else if (field.type == kBytes) {
    field.bytes = take(varint());
  } else if (field.type == kEight || field.type == kFour) {
    const std::string_view raw = take(field.type == kEight ? 8 : 4);
    std::memcpy(&field.value, raw.data(), raw.size());
  } else {
    damaged(file_, fmt::format("holds a field of type {}, which is not read", field.type));
  }
  return true;
}

void append_integers(const ProtobufField& field, const std::string& file, std::vector<std::int64_t>& list) {
  if (field.type == kVarint) {
    list.push_back(field.integer());
    return;
  }
  ProtobufReader packed(bytes_of(field, file), file);
  while (!packed.done()) list.push_back(static_cast<std::int64_t>(packed.varint()));
}

std::string_view bytes_of(const ProtobufField& field, const std::string& file) {
  if (field.type != kBytes)
    damaged(file, fmt::format("holds a number where field {} should be bytes", field.number));
  return field.bytes;
}

}  // namespace exhume
