// Named tensors in one file that other programs read: .safetensors.
//
//   N (u64, little endian) | N bytes of JSON | buffer
//   JSON: {"__metadata__": {"key": "value"},
//          "W": {"dtype": "F64", "shape": [3, 4], "data_offsets": [0, 96]}, ...}
//
// Written: F64, row-major, tensors back to back in the order of the list, JSON keys in a fixed order, the
// header padded with spaces to a multiple of 8. The same tensors give the same bytes. Read strictly: N at
// most 100,000,000 and within the file (before anything is allocated); no key twice; extents and offsets
// whole numbers below 2^63; offsets that cover the buffer from 0 to its end without gap or overlap; lengths
// that fit shape and type. F64, F32, F16 and BF16 are read. Anything else is a DataError.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "exhume/network.h"
#include "io/tensors.h"

namespace exhume {

// Throws std::invalid_argument for names given twice, "__metadata__", sizes that do not
// fit, or invalid UTF-8.
[[nodiscard]] std::string safetensors_bytes(const Tensors& tensors);
void write_safetensors(const std::filesystem::path& path, const Tensors& tensors);
[[nodiscard]] Tensors read_safetensors(const std::filesystem::path& path);

// A network under the names of io/tensors.h.
[[nodiscard]] std::string network_bytes(const Network& network,
                                        const std::map<std::string, std::string>& metadata = {});
void write_network(const std::filesystem::path& path, const Network& network,
                   const std::map<std::string, std::string>& metadata = {});

}  // namespace exhume
