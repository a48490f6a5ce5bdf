// NumPy's .npy: one array, a text header and raw numbers.
//
//   "\x93NUMPY" major minor | header length (u16 in v1, u32 in v2 and v3) | header | data
//   header: {'descr': '<f8', 'fortran_order': False, 'shape': (100, 3), }   spaces, then a newline
//
// Read: versions 1 to 3; f2 f4 f8, i1..i8, u1..u8, b1; byte order < > | =; C and Fortran order. Everything
// becomes double. Refused, with a DataError: pickled objects, structured, complex and text types; negative or
// overflowing shapes; a header over 64 KiB (looked at before anything is allocated); a file that is longer or
// shorter than header + data; whole numbers beyond 2^53, which a double cannot hold exactly. Written: version
// 1, '<f8', C order.
//
// As a table a 1-D array is one column; 0-D and 3-D arrays are refused. A block of a Fortran-order table
// costs one read a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/atomic_file.h"
#include "io/table.h"

namespace exhume {

// The longest start of a .npy file that can matter to parse_npy_header.
inline constexpr std::uint64_t kNpyHeaderCap = 12 + 64 * 1024;

struct NpyType {
  enum class Kind { kFloat, kSigned, kUnsigned, kBool };
  Kind kind = Kind::kFloat;
  int size = 8;             // bytes
  bool big_endian = false;  // '>'
};

struct NpyArray {
  NpyType dtype;
  bool fortran_order = false;
  std::vector<Index> shape;       // extents >= 0; empty for one number
  std::uint64_t data_offset = 0;  // where the numbers start

  [[nodiscard]] std::uint64_t elements() const;
  [[nodiscard]] std::uint64_t data_bytes() const;
};

// The header of a .npy file. `start` is the file's first kNpyHeaderCap bytes, or all of a shorter one; `name`
// is what messages call it. Throws DataError.
[[nodiscard]] NpyArray parse_npy_header(std::string_view start, const std::string& name);

// The header of a rows x cols array of '<f8' in C order; data follow at once. Its size is a multiple of 64.
[[nodiscard]] std::string npy_header(const std::vector<Index>& shape);

// Converts `count` numbers of the given type to doubles: out[i * stride]. Returns the position of the first
// whole number beyond 2^53, or `count` where there is none.
[[nodiscard]] std::size_t npy_to_double(const NpyType& type, const char* bytes, std::size_t count,
                                        double* out, std::size_t stride = 1);

// A .npy file as a table; reads blocks with pread.
[[nodiscard]] TablePtr open_npy(const std::filesystem::path& path);

// Writes rows as they come: rows x cols numbers in all, into a file that the caller commits after finish().
class NpyWriter {
 public:
  NpyWriter(AtomicFile& file, Index rows, Index cols);
  void append(const Eigen::Ref<const RowMatrix>& rows);
  // Throws std::logic_error unless exactly the promised rows were appended.
  void finish() const;

 private:
  AtomicFile& file_;
  Index rows_, cols_, done_ = 0;
};

void write_npy(const std::filesystem::path& path, const Eigen::Ref<const RowMatrix>& values);

}  // namespace exhume
