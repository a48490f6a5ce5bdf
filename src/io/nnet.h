// Networks in the text format of the collision avoidance benchmarks (.nnet; Julian, Stanford 2016).
//
//     // comments
//     layers, inputs, outputs, largest width,        layers D + 1, the outputs' included
//     d, k_1, ..., k_D, m,
//     0,                                             unused
//     smallest input, ...                            d
//     largest input, ...                             d
//     mean of input, ..., mean of outputs,           d + 1
//     range of input, ..., range of outputs,         d + 1
//     rows of W_1, one per line; entries of b_1, one per line; W_2, ...
//
// The weights stand on normalised inputs, (x - mean) / range, and give normalised outputs: that is the
// network which is read, and the ends of its inputs are those of the file, normalised. ReLUs between layers.
//
// The file is read whole, at most 1 GiB of it, and weights are taken as they come: what a header claims takes
// no memory. Whatever is wrong is a DataError that names the line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "exhume/network.h"
#include "exhume/oracle.h"

namespace exhume {

struct NnetFile {
  Network network;
  Box domain;  // of normalised inputs; unbounded where the file gives none that can be
};

// `file` is what messages call the place the text came from.
[[nodiscard]] NnetFile parse_nnet(std::string_view text, const std::string& file);
[[nodiscard]] NnetFile read_nnet(const std::filesystem::path& path);

}  // namespace exhume
