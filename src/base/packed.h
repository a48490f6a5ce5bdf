// Values as bytes and back, bit by bit: what processes send each other, and what a checkpoint keeps.
//
//     std::string bytes = packed(value);
//     Value same = unpacked<Value>(bytes);
//
// Numbers, strings, vectors, arrays, pairs, Eigen's matrices, and structures of these. A plain structure (an
// aggregate of up to ten members, none of them a C array) needs nothing; any other says what it is made of:
//
//     auto fields() { return std::tie(count, sums); }
//
// (Boost.PFR would list the members of an aggregate, but is in Boost from 1.75 on; Debian 12 has 1.74.)
//
// Bytes are those of this machine's numbers: they travel between programs of one version on one kind of
// processor.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "exhume/error.h"

namespace exhume {
namespace packing {

template <class T>
inline constexpr bool kPlain = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
inline constexpr bool kEigen = std::is_base_of_v<Eigen::PlainObjectBase<T>, T>;
template <class T>
concept HasFields = requires(T& value) {
  value.fields();
};

struct Anything {
  template <class T>
  operator T() const;  // NOLINT: only ever named
};
template <class T, std::size_t... I>
consteval bool made_of(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
// Members of an aggregate: the most initialisers that it takes.
template <class T, std::size_t N = 10>
consteval std::size_t members() {
  if constexpr (N == 0) {
    return 0;
  } else if constexpr (made_of<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return members<T, N - 1>();
  }
}

// References to the members of a structure.
template <class T>
auto fields_of(T& v) {
  if constexpr (HasFields<T>) {
    return v.fields();
  } else {
    static_assert(std::is_aggregate_v<T>, "a structure with constructors says its fields()");
    constexpr std::size_t n = members<T>();
    static_assert(n > 0);
    if constexpr (n == 1) {
      auto& [a] = v;
      return std::tie(a);
    } else if constexpr (n == 2) {
      auto& [a, b] = v;
      return std::tie(a, b);
    } else if constexpr (n == 3) {
      auto& [a, b, c] = v;
      return std::tie(a, b, c);
    } else if constexpr (n == 4) {
      auto& [a, b, c, d] = v;
      return std::tie(a, b, c, d);
    } else if constexpr (n == 5) {
      auto& [a, b, c, d, e] = v;
      return std::tie(a, b, c, d, e);
    } else if constexpr (n == 6) {
      auto& [a, b, c, d, e, f] = v;
      return std::tie(a, b, c, d, e, f);
    } else if constexpr (n == 7) {
      auto& [a, b, c, d, e, f, g] = v;
      return std::tie(a, b, c, d, e, f, g);
    } else if constexpr (n == 8) {
      auto& [a, b, c, d, e, f, g, h] = v;
      return std::tie(a, b, c, d, e, f, g, h);
    } else if constexpr (n == 9) {
      auto& [a, b, c, d, e, f, g, h, i] = v;
      return std::tie(a, b, c, d, e, f, g, h, i);
    } else {
      auto& [a, b, c, d, e, f, g, h, i, j] = v;
      return std::tie(a, b, c, d, e, f, g, h, i, j);
    }
  }
}

class Writer {
 public:
  std::string bytes;

  template <class T>
  void put(const T& value) {
    if constexpr (kPlain<T>) {
      raw(&value, 1);
    } else if constexpr (kEigen<T>) {
      put(static_cast<std::int64_t>(value.rows()));
      put(static_cast<std::int64_t>(value.cols()));
      raw(value.data(), static_cast<std::size_t>(value.size()));
    } else {
      std::apply([this](const auto&... field) { (put(field), ...); }, fields_of(const_cast<T&>(value)));
    }
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    if constexpr (kPlain<T>) {
      raw(values.data(), values.size());
    } else {
      for (const T& value : values) put(value);
    }
  }
  template <class T, std::size_t N>
  void put(const T (&values)[N]) {
    for (const T& value : values) put(value);
  }
  template <class T, std::size_t N>
  void put(const std::array<T, N>& values) {
    for (const T& value : values) put(value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    raw(text.data(), text.size());
  }

 private:
  template <class T>
  void raw(const T* data, std::size_t count) {
    if constexpr (std::is_same_v<T, long double>) {  // its last bytes mean nothing
      for (std::size_t i = 0; i < count; ++i) {
        const double high = static_cast<double>(data[i]);
        const double low = std::isfinite(high) ? static_cast<double>(data[i] - high) : 0;
        raw(&high, 1);
        raw(&low, 1);
      }
    } else if (count > 0) {
      bytes.append(reinterpret_cast<const char*>(data), count * sizeof(T));
    }
  }
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] std::string_view left() const { return left_; }

  template <class T>
  void get(T& value) {
    if constexpr (kPlain<T>) {
      raw(&value, 1);
    } else if constexpr (kEigen<T>) {
      const auto rows = number<std::int64_t>(), cols = number<std::int64_t>();
      const std::uint64_t most = left_.size() / sizeof(typename T::Scalar);
      if (rows < 0 || cols < 0 ||
          (rows > 0 && static_cast<std::uint64_t>(cols) > most / static_cast<std::uint64_t>(rows)))
        refuse();
      if ((T::ColsAtCompileTime != Eigen::Dynamic && cols != T::ColsAtCompileTime) ||
          (T::RowsAtCompileTime != Eigen::Dynamic && rows != T::RowsAtCompileTime))
        refuse();
      value.resize(rows, cols);
      raw(value.data(), static_cast<std::size_t>(value.size()));
    } else {
      std::apply([this](auto&... field) { (get(field), ...); }, fields_of(value));
    }
  }
  template <class T>
  void get(std::vector<T>& values) {
    const auto size = number<std::uint64_t>();
    if (size > left_.size()) refuse();
    values.resize(size);
    if constexpr (kPlain<T>) {
      raw(values.data(), values.size());
    } else {
      for (T& value : values) get(value);
    }
  }
  template <class T, std::size_t N>
  void get(T (&values)[N]) {
    for (T& value : values) get(value);
  }
  template <class T, std::size_t N>
  void get(std::array<T, N>& values) {
    for (T& value : values) get(value);
  }
  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    get(pair.first);
    get(pair.second);
  }
  void get(std::string& text) {
    const auto size = number<std::uint64_t>();
    if (size > left_.size()) refuse();
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  template <class T>
  [[nodiscard]] T number() {
    T value{};
    raw(&value, 1);
    return value;
  }

 private:
  [[noreturn]] static void refuse() {
    throw DataError("a sum ends too early or is of another version; make it again with this one");
  }
  template <class T>
  void raw(T* data, std::size_t count) {
    if constexpr (std::is_same_v<T, long double>) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto high = number<double>(), low = number<double>();
        data[i] = static_cast<long double>(high) + low;
      }
    } else {
      if (count > left_.size() / sizeof(T)) refuse();
      if (count > 0) std::memcpy(static_cast<void*>(data), left_.data(), count * sizeof(T));
      left_.remove_prefix(count * sizeof(T));
    }
  }
  std::string_view left_;
};

}  // namespace packing

template <class T>
[[nodiscard]] std::string packed(const T& value) {
  packing::Writer writer;
  writer.put(value);
  return std::move(writer.bytes);
}

// Reads into `value`, which may hold what is not packed; throws DataError where the bytes are no T.
template <class T>
void unpack(std::string_view bytes, T& value) {
  packing::Reader reader(bytes);
  reader.get(value);
  if (!reader.left().empty())
    throw DataError("a sum is longer than it should be; make it again with this version");
}
template <class T>
[[nodiscard]] T unpacked(std::string_view bytes) {
  T value{};
  unpack(bytes, value);
  return value;
}

}  // namespace exhume
