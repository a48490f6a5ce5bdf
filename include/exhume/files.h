// Samples and networks in files; what they are is told by their ending.
//
//     .npy .csv .tsv .txt   a table, read block by block: x-*.npy, a folder or a,b,c are several as one
//     .npz                  arrays x and y, or a network's W, b, A, c and perhaps L
//     .safetensors .onnx    a network; .nnet too, to be read
//
// Whatever is wrong with a file is a DataError of one sentence: the file, the place, the remedy.
#pragma once

#include <filesystem>

#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"

#pragma GCC visibility push(default)
namespace exhume {

// Inputs in one file (n x d), outputs in another (n x m, or n numbers); the formats may differ.
[[nodiscard]] SamplePtr open_samples(const std::filesystem::path& x, const std::filesystem::path& y,
                                     const Control& control = {});
// Both in one .npz.
[[nodiscard]] SamplePtr open_samples(const std::filesystem::path& npz, const Control& control = {});

// A network of ReLUs of any depth, also in the names of other programs. Throws DataError where its units are
// not ReLUs.
[[nodiscard]] Network open_network(const std::filesystem::path& path);

// Into a .safetensors, .npz or .onnx file, whole or not at all. Throws std::invalid_argument for another
// ending.
void save_network(const std::filesystem::path& path, const Network& network);

}  // namespace exhume
#pragma GCC visibility pop
