// certificate.json as text.
#pragma once

#include <filesystem>
#include <string>

namespace exhume::cli {

// Throws DataError where it cannot be read or is too large for a certificate.
[[nodiscard]] std::string read_certificate(const std::filesystem::path& path);

}  // namespace exhume::cli
