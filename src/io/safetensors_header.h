// The JSON header of a .safetensors file, read without trusting it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exhume/types.h"

namespace exhume {

struct TensorEntry {
  std::string name, dtype;
  std::vector<Index> shape;
  std::uint64_t begin = 0, end = 0;  // within the buffer
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in the order of the file
  std::map<std::string, std::string> metadata;
};

// Throws DataError for anything but the documented form, duplicated keys included. Looks at one entry at a
// time: whether the entries fit each other and the buffer is for the caller to check.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file);

}  // namespace exhume
