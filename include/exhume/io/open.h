// Files of any kind: what they are is told by their ending.
//
//   .npy          one array                        io/npy.h    read block by block
//   .csv .tsv .txt  a table as text                io/csv.h    read block by block
//   .npz          arrays x and y, or a network     io/npz.h    in memory
//   .safetensors  a network                        io/safetensors.h
//
// Whatever is wrong with a file is a DataError of one sentence: the file, the place, the remedy.
#pragma once

#include <filesystem>

#include "exhume/base/control.h"
#include "exhume/data/samples.h"
#include "exhume/io/table.h"
#include "exhume/model/network.h"

namespace exhume {

// Inputs in one file (n x d), outputs in another (n x m, or n numbers); the formats may differ.
[[nodiscard]] SamplePtr open_samples(const std::filesystem::path& x, const std::filesystem::path& y,
                                     const Control& control = {});
// Both in one .npz.
[[nodiscard]] SamplePtr open_samples(const std::filesystem::path& npz, const Control& control = {});

// One table: .npy, .csv, .tsv or .txt.
[[nodiscard]] TablePtr open_table(const std::filesystem::path& path, const Control& control = {});

// A network in .safetensors, or in .npz as W, b, A, c and perhaps L.
[[nodiscard]] Network open_network(const std::filesystem::path& path);

}  // namespace exhume
