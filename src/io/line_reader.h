// Lines of a file, from any position on, through a buffer of fixed size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/random_access_file.h"

namespace exhume {

class LineReader {
 public:
  LineReader(const RandomAccessFile& file, std::uint64_t offset)
      : file_(file), next_(offset), start_(offset) {}

  // The next line without its end (LF or CRLF); false at the end of the file. The view lives until the next
  // call. Throws ResourceError for a line over 256 MiB.
  bool next(std::string_view& line);
  // Where the line that next() will return starts.
  [[nodiscard]] std::uint64_t offset() const { return start_; }

 private:
  const RandomAccessFile& file_;
  std::uint64_t next_;   // first byte not yet in the buffer
  std::uint64_t start_;  // first byte not yet handed out; buffer_[used_]
  std::string buffer_;
  std::size_t used_ = 0;
};

}  // namespace exhume
