// Sums to bytes and back: a tag, then whole numbers and matrices one after another, little-endian.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "exhume/base/error.h"
#include "exhume/base/types.h"

namespace exhume {

static_assert(std::endian::native == std::endian::little, "the byte order of saved sums");

class ByteWriter {
 public:
  explicit ByteWriter(const char* tag) : bytes_(tag, 8) {}
  void put(std::int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class Derived>
  void put_matrix(const Eigen::PlainObjectBase<Derived>& matrix) {
    put(matrix.rows());
    put(matrix.cols());
    bytes_.append(reinterpret_cast<const char*>(matrix.data()),
                  sizeof(double) * static_cast<size_t>(matrix.size()));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  ByteReader(const std::string& bytes, const char* tag) : bytes_(bytes) {
    if (bytes.size() < 8 || bytes.compare(0, 8, tag, 8) != 0) fail();
    at_ = 8;
  }
  std::int64_t get() {
    std::int64_t value = 0;
    need(sizeof value);
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  Matrix get_matrix() {
    const std::int64_t rows = get(), cols = get();
    const auto left = static_cast<std::int64_t>((bytes_.size() - at_) / sizeof(double));
    if (rows < 0 || cols < 0 || (rows > 0 && cols > left / rows)) fail();
    Matrix out(rows, cols);
    if (out.size() > 0)
      std::memcpy(out.data(), bytes_.data() + at_, sizeof(double) * static_cast<size_t>(out.size()));
    at_ += sizeof(double) * static_cast<size_t>(out.size());
    return out;
  }
  void finish() const {
    if (at_ != bytes_.size()) fail();
  }

 private:
  void need(size_t size) const {
    if (bytes_.size() - at_ < size) fail();
  }
  [[noreturn]] static void fail() {
    throw DataError("these bytes are no saved moments of this version; compute them again");
  }
  const std::string& bytes_;
  size_t at_ = 0;
};

}  // namespace exhume
