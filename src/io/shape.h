// Shapes of arrays in files: checked products and how messages show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exhume/types.h"

namespace exhume {

// Bytes of an array: item * product of the shape, or nothing where that exceeds 2^63 - 1. A zero does not
// excuse the other extents: (0, 2^62, 2^62) overflows too. Extents are >= 0.
[[nodiscard]] std::optional<std::uint64_t> array_bytes(const std::vector<Index>& shape, std::uint64_t item);

// "(100, 3)", "(100,)", "()".
[[nodiscard]] std::string show_shape(const std::vector<Index>& shape);

// The indices of a flat position in row-major order: "[2, 0]"; "" for a scalar.
[[nodiscard]] std::string show_position(const std::vector<Index>& shape, std::uint64_t flat);

}  // namespace exhume
