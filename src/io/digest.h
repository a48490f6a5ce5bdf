// SHA-256 of bytes and of files, as 64 hexadecimal digits: to tell whether a file is the one it was.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "exhume/certificate.h"
#include "exhume/control.h"

namespace exhume {

[[nodiscard]] std::string sha256(std::string_view bytes);

// Throws DataError naming the file where it cannot be read.
[[nodiscard]] std::string sha256_file(const std::filesystem::path& path, const Control& control = {});

}  // namespace exhume
