#include "certificate_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "exhume/error.h"

namespace exhume::cli {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kLargestCertificate = std::uintmax_t{64} << 20;

}  // namespace

std::string read_certificate(const fs::path& path) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(path, missing);
  if (missing) {
    throw DataError(fmt::format("{} cannot be read: {}; give a folder that a command wrote with --out",
                                path.string(), missing.message()));
  }
  if (size > kLargestCertificate) {
    throw DataError(
        fmt::format("{} has {} bytes, too many for a certificate; is it one?", path.string(), size));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw DataError(fmt::format("{} cannot be read; check its permissions", path.string()));
  return text;
}

}  // namespace exhume::cli
