// Whether a value that was read has the shapes of another: what keeps a sum that was changed from being used.
//
//     unpack(bytes, value);   if (!same_shape(value, empty)) throw DataError(...)
//
// Matrices have as many rows and columns, lists of numbers as many entries, wherever the other has some: sums
// that begin empty may grow. A structure with `bool fits(const T& like) const` says so itself: counts and
// sizes that it holds as numbers are then looked at too.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include "base/packed.h"

namespace exhume {

template <class T>
concept SaysFits = requires(const T& value) {
  { value.fits(value) } -> std::convertible_to<bool>;
};

template <class T>
[[nodiscard]] bool same_shape(const T& value, const T& like);

namespace packing {

template <class T>
[[nodiscard]] bool same_entries(const T& values, const T& like, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!same_shape(values[i], like[i])) return false;
  }
  return true;
}
template <class T>
inline constexpr bool kVector = false;
template <class T>
inline constexpr bool kVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kStdArray = false;
template <class T, std::size_t N>
inline constexpr bool kStdArray<std::array<T, N>> = true;
template <class T>
inline constexpr bool kPair = false;
template <class A, class B>
inline constexpr bool kPair<std::pair<A, B>> = true;

}  // namespace packing

template <class T>
bool same_shape(const T& value, const T& like) {
  using namespace packing;
  if constexpr (kPlain<T> || std::is_same_v<T, std::string>) {
    return true;
  } else if constexpr (kEigen<T>) {
    return like.size() == 0 || (value.rows() == like.rows() && value.cols() == like.cols());
  } else if constexpr (kVector<T>) {
    if constexpr (std::is_floating_point_v<typename T::value_type>) {
      return like.empty() || value.size() == like.size();
    } else if constexpr (kPlain<typename T::value_type>) {
      return true;
    } else {
      return like.empty() || value.size() != like.size() || same_entries(value, like, like.size());
    }
  } else if constexpr (std::is_array_v<T>) {
    return same_entries(value, like, std::extent_v<T>);
  } else if constexpr (kStdArray<T>) {
    return same_entries(value, like, like.size());
  } else if constexpr (kPair<T>) {
    return same_shape(value.first, like.first) && same_shape(value.second, like.second);
  } else if constexpr (SaysFits<T>) {
    return value.fits(like);
  } else {
    const auto a = fields_of(const_cast<T&>(value)), b = fields_of(const_cast<T&>(like));
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same_shape(std::get<I>(a), std::get<I>(b)) && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(a)>>());
  }
}

// The value, if it has these shapes; throws DataError otherwise: a sum of a checkpoint that was changed.
template <class T>
[[nodiscard]] T of_shape(T value, const T& like) {
  if (!same_shape(value, like)) {
    throw DataError(
        "a sum has other shapes than these samples give; it was changed, or made by another program");
  }
  return value;
}

}  // namespace exhume
