#include "session/certificate_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "exhume/error.h"

namespace exhume {
namespace fs = std::filesystem;

std::string read_small_file(const fs::path& path) {
  constexpr std::uintmax_t kLargest = std::uintmax_t{64} << 20;
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(path, missing);
  if (missing) {
    throw DataError(fmt::format("{} cannot be read: {}; give a folder that holds a result", path.string(),
                                missing.message()));
  }
  if (size > kLargest) {
    throw DataError(
        fmt::format("{} has {} bytes, too many for a certificate; is it one?", path.string(), size));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw DataError(fmt::format("{} cannot be read; check its permissions", path.string()));
  return text;
}

Document read_document_of(const std::string& text, const fs::path& path) {
  try {
    return read_document(text);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

Document read_document_in(const fs::path& folder) {
  const fs::path path = folder / kCertificateFile;
  return read_document_of(read_small_file(path), path);
}

}  // namespace exhume
