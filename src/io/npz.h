// NumPy's .npz: a zip of .npy files, one per array.
//
// Sizes come from the central directory, as NumPy's local headers hold 0xFFFFFFFF. An array is inflated only
// as far as its own header says, and only if that is what the directory says, if deflate could have packed it
// so tightly (at most 1032 : 1), and if all arrays asked for fit `memory_limit`, as doubles. Refused:
// encryption, two entries of one name, methods other than stored and deflated, and whatever a .npy may not
// hold. Entries that are not .npy are ignored. Whole numbers beyond 2^53 are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "exhume/network.h"
#include "exhume/samples.h"
#include "io/tensors.h"

namespace exhume {

struct NpzOptions {
  // Bytes of doubles over all arrays read; ResourceError above.
  std::uint64_t memory_limit = std::uint64_t{8} << 30;
};

// Every array, by name, in the order of the archive. NaN and infinities are passed on.
[[nodiscard]] Tensors read_npz(const std::filesystem::path& path, const NpzOptions& options = {});

// The arrays x (or X) and y (or Y), in memory; other arrays are not looked at. Rows are samples, a 1-D array
// is one column; all finite.
// `digest`, where given, becomes the SHA-256 of the archive.
[[nodiscard]] SamplePtr read_samples_npz(const std::filesystem::path& path, const NpzOptions& options = {},
                                         std::string* digest = nullptr);

// Stored, not compressed, with a fixed date: the same tensors give the same bytes. Metadata are not written.
[[nodiscard]] std::string npz_bytes(const Tensors& tensors);
void write_npz(const std::filesystem::path& path, const Tensors& tensors);

}  // namespace exhume
