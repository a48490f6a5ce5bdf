#include "io/npy.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "exhume/error.h"
#include "io/shape.h"

namespace exhume {
namespace {

static_assert(std::endian::native == std::endian::little, "raw numbers are written as they lie in memory");

constexpr std::string_view kMagic = "\x93NUMPY";

// The header is a Python dict literal; this reads the part of the language that NumPy writes.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse(NpyArray& array) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        array.dtype = type();
      } else if (key == "fortran_order" && !order) {
        order = true;
        array.fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        array.shape = extents();
      } else {
        fail(fmt::format("the key '{}' is unknown or given twice", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) fail("something follows the closing brace");
    if (!descr || !order || !shape) fail("one of descr, fortran_order and shape is missing");
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw DataError(
        fmt::format("{} has a damaged .npy header: {}; save the array again with numpy.save", name_, what));
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char wanted) {
    skip();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("'{}' was expected at byte {} of it", wanted, at_));
  }
  bool accept_word(std::string_view word) {
    skip();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view quoted() {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("a quoted name was expected");
    const char quote = text_[at_];
    const std::size_t start = at_ + 1, end = text_.find(quote, start);
    if (end == std::string_view::npos) fail("a quote is not closed");
    at_ = end + 1;
    const std::string_view inside = text_.substr(start, end - start);
    for (const char c : inside) {
      if (c < 0x20 || c > 0x7e || c == '\\') fail("a name holds unusual characters");
    }
    return inside;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail("fortran_order is neither True nor False");
  }

  std::vector<Index> extents() {
    std::vector<Index> shape;
    expect('(');
    while (!accept(')')) {
      if (accept('-')) {
        throw DataError(fmt::format("{} claims a negative extent in its shape; save the array again", name_));
      }
      skip();
      std::uint64_t value = 0;
      const std::size_t start = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
        if (value > std::uint64_t{1} << 60) {  // and 10 * 2^60 + 9 still fits
          throw DataError(
              fmt::format("{} claims a shape that no memory can hold; save the array again", name_));
        }
      }
      if (at_ == start) fail("the shape is not a tuple of whole numbers");
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
      shape.push_back(static_cast<Index>(value));
      if (shape.size() > 64) fail("the shape has more than 64 dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  NpyType type() {
    skip();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
      throw DataError(fmt::format(
          "{} holds structured records (named fields); save one plain array of numbers instead", name_));
    }
    const std::string_view descr = quoted();
    const auto refuse = [&](std::string_view what) {
      throw DataError(fmt::format(
          "{} holds {} (dtype '{}'); save it as numbers, with array.astype('float64')", name_, what, descr));
    };
    std::string_view rest = descr;
    NpyType type;
    if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
      type.big_endian = rest[0] == '>';
      rest.remove_prefix(1);
    }
    if (rest.starts_with('O')) refuse("pickled Python objects");
    if (rest.starts_with('V')) refuse("raw or structured records");
    if (rest.starts_with('c')) refuse("complex numbers");
    if (rest.starts_with('S') || rest.starts_with('a') || rest.starts_with('U')) refuse("text");
    if (rest.starts_with('M') || rest.starts_with('m')) refuse("dates or times");
    if (rest.size() != 2) refuse("a type that is not supported");
    type.size = rest[1] - '0';
    const bool whole = type.size == 1 || type.size == 2 || type.size == 4 || type.size == 8;
    if (rest[0] == 'f' && whole && type.size != 1) {
      type.kind = NpyType::Kind::kFloat;
    } else if (rest[0] == 'i' && whole) {
      type.kind = NpyType::Kind::kSigned;
    } else if (rest[0] == 'u' && whole) {
      type.kind = NpyType::Kind::kUnsigned;
    } else if (rest == "b1") {
      type.kind = NpyType::Kind::kBool;
    } else {
      refuse("a type that is not supported");
    }
    return type;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

double half_to_double(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  double value;
  if (exponent == 31) {
    value = fraction ? std::nan("") : HUGE_VAL;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return half & 0x8000 ? -value : value;
}

template <class T>
T load(const char* bytes, bool swapped) {
  char raw[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i) raw[i] = bytes[swapped ? sizeof(T) - 1 - i : i];
  T value;
  std::memcpy(&value, raw, sizeof value);
  return value;
}

template <class T>
std::size_t convert(const char* bytes, bool swapped, std::size_t count, double* out, std::size_t stride) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  std::size_t inexact = count;
  for (std::size_t i = count; i-- > 0;) {
    const T value = load<T>(bytes + i * sizeof(T), swapped);
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
      if (value > static_cast<T>(kExact)) inexact = i;
      if constexpr (std::is_signed_v<T>) {
        if (value < -kExact) inexact = i;
      }
    }
    out[i * stride] = static_cast<double>(value);
  }
  return inexact;
}

}  // namespace

std::uint64_t NpyArray::elements() const { return array_bytes(shape, 1).value(); }

std::uint64_t NpyArray::data_bytes() const {
  return array_bytes(shape, static_cast<std::uint64_t>(dtype.size)).value();
}

NpyArray parse_npy_header(std::string_view start, const std::string& name) {
  if (!start.starts_with(kMagic)) {
    throw DataError(fmt::format(
        "{} is not a .npy file: it does not start with NumPy's mark; save it with numpy.save", name));
  }
  if (start.size() < 10)
    throw DataError(fmt::format("{} is cut off inside its header; copy or save it again", name));
  const int major = static_cast<unsigned char>(start[6]);
  if (major < 1 || major > 3) {
    throw DataError(
        fmt::format("{} is a .npy file of version {}; versions 1 to 3 are read, so save it again with "
                    "numpy.save",
                    name, major));
  }
  const std::size_t preamble = major == 1 ? 10 : 12;
  std::uint64_t length = 0;
  if (start.size() < preamble)
    throw DataError(fmt::format("{} is cut off inside its header; copy or save it again", name));
  for (std::size_t i = preamble; i-- > 8;) length = length << 8 | static_cast<unsigned char>(start[i]);
  if (length > 64 * 1024) {
    throw DataError(fmt::format(
        "{} claims a header of {} bytes, more than 65536; it is damaged, so save it again", name, length));
  }
  if (start.size() - preamble < length) {
    throw DataError(fmt::format("{} is cut off inside its header; copy or save it again", name));
  }
  NpyArray array;
  array.data_offset = preamble + length;
  HeaderParser(start.substr(preamble, static_cast<std::size_t>(length)), name).parse(array);
  // Eight bytes per number, whatever the type: everything becomes double.
  if (!array_bytes(array.shape, 8)) {
    throw DataError(fmt::format("{} claims a shape that no memory can hold, {}; save the array again", name,
                                show_shape(array.shape)));
  }
  return array;
}

std::string npy_header(const std::vector<Index>& shape) {
  std::string text =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}", show_shape(shape));
  const std::size_t used = 10 + text.size() + 1;
  text.append((64 - used % 64) % 64, ' ').push_back('\n');
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

std::size_t npy_to_double(const NpyType& type, const char* bytes, std::size_t count, double* out,
                          std::size_t stride) {
  const bool swapped = type.big_endian;
  using Kind = NpyType::Kind;
  switch (type.kind) {
    case Kind::kFloat:
      if (type.size == 8) return convert<double>(bytes, swapped, count, out, stride);
      if (type.size == 4) return convert<float>(bytes, swapped, count, out, stride);
      for (std::size_t i = 0; i < count; ++i)
        out[i * stride] = half_to_double(load<std::uint16_t>(bytes + 2 * i, swapped));
      return count;
    case Kind::kSigned:
      if (type.size == 8) return convert<std::int64_t>(bytes, swapped, count, out, stride);
      if (type.size == 4) return convert<std::int32_t>(bytes, swapped, count, out, stride);
      if (type.size == 2) return convert<std::int16_t>(bytes, swapped, count, out, stride);
      return convert<std::int8_t>(bytes, swapped, count, out, stride);
    case Kind::kUnsigned:
      if (type.size == 8) return convert<std::uint64_t>(bytes, swapped, count, out, stride);
      if (type.size == 4) return convert<std::uint32_t>(bytes, swapped, count, out, stride);
      if (type.size == 2) return convert<std::uint16_t>(bytes, swapped, count, out, stride);
      return convert<std::uint8_t>(bytes, swapped, count, out, stride);
    case Kind::kBool:
      for (std::size_t i = 0; i < count; ++i) out[i * stride] = bytes[i] != 0;
      return count;
  }
  return count;
}

NpyWriter::NpyWriter(AtomicFile& file, Index rows, Index cols) : file_(file), rows_(rows), cols_(cols) {
  file_.write(npy_header({rows, cols}));
}

void NpyWriter::append(const Eigen::Ref<const RowMatrix>& rows) {
  if (rows.cols() != cols_ || rows.rows() > rows_ - done_) {
    throw std::invalid_argument(
        fmt::format("NpyWriter: {} x {} more after {} rows do not fit an array of {} x {}", rows.rows(),
                    rows.cols(), done_, rows_, cols_));
  }
  for (Index i = 0; i < rows.rows(); ++i) {  // a Ref may have gaps between rows
    file_.write({reinterpret_cast<const char*>(rows.data() + i * rows.outerStride()),
                 static_cast<std::size_t>(cols_) * sizeof(double)});
  }
  done_ += rows.rows();
}

void NpyWriter::finish() const {
  if (done_ != rows_)
    throw std::logic_error(fmt::format("NpyWriter: {} rows of {} were written", done_, rows_));
}

void write_npy(const std::filesystem::path& path, const Eigen::Ref<const RowMatrix>& values) {
  AtomicFile file(path);
  NpyWriter writer(file, values.rows(), values.cols());
  writer.append(values);
  writer.finish();
  file.commit();
}

}  // namespace exhume
