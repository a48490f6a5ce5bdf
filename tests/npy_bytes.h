// .npy files byte by byte, as NumPy writes them, so that tests need no NumPy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace exhume {

// A .npy file with this header text (not padded) and these data.
inline std::string npy_file(const std::string& dict, std::string_view data, int major = 1) {
  std::string text = dict;
  const std::size_t preamble = major == 1 ? 10 : 12;
  while ((preamble + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (std::size_t i = 0; i < preamble - 8; ++i) file += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return file + text + std::string(data);
}

inline std::string npy_dict(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

// The bytes of numbers of type T, little endian or reversed.
template <class T>
std::string raw(const std::vector<T>& values, bool big_endian = false) {
  std::string bytes;
  for (const T value : values) {
    char each[sizeof(T)];
    std::memcpy(each, &value, sizeof value);
    if (big_endian) std::reverse(each, each + sizeof each);
    bytes.append(each, sizeof each);
  }
  return bytes;
}

}  // namespace exhume
