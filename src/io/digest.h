// SHA-256 of bytes and of files, as 64 hexadecimal digits: to tell whether a file is the one it was.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "exhume/control.h"

namespace exhume {

// A file that was read or written.
struct FileDigest {
  std::string role, path;  // "inputs", "x.npy"
  std::string sha256{};    // of the bytes that were used; empty where it was not computed
};

[[nodiscard]] std::string sha256(std::string_view bytes);

// Throws DataError naming the file where it cannot be read.
[[nodiscard]] std::string sha256_file(const std::filesystem::path& path, const Control& control = {});

}  // namespace exhume
