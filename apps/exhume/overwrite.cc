#include "overwrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "certificate_file.h"
#include "exhume/base/error.h"
#include "exhume/certify/certificate_check.h"
#include "exhume/io/digest.h"
#include "exhume/io/output_folder.h"

namespace exhume::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCertificate = "certificate.json";

// What the certificate in the folder says was written with it.
std::vector<FileDigest> written_before(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / kCertificate, ignored)) return {};
  try {
    return certified_files(read_certificate(folder / kCertificate)).written;
  } catch (const DataError&) {
    return {};  // not a certificate
  }
}

}  // namespace

void refuse_to_overwrite(const std::string& folder, const std::vector<std::string>& names) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return;
  settle_folder(folder);  // a program that was killed while it wrote
  const std::vector<FileDigest> ours = written_before(folder);
  for (const std::string& name : names) {
    const fs::path path = fs::path(folder) / name;
    if (!fs::exists(path, ignored)) continue;
    const auto it =
        std::find_if(ours.begin(), ours.end(), [&](const FileDigest& file) { return file.path == name; });
    if (it != ours.end() && fs::is_regular_file(path, ignored) && sha256_file(path) == it->sha256) continue;
    throw std::invalid_argument(
        fmt::format("{} was not written by an earlier run into this folder and would be lost; give --out "
                    "another folder, or --force",
                    path.string()));
  }
}

void refuse_result_folder(const std::string& folder) {
  std::error_code ignored;
  const fs::path path = fs::path(folder) / kCertificate;
  if (!fs::exists(path, ignored)) return;
  throw std::invalid_argument(fmt::format(
      "{} belongs to a result whose network would be overwritten; give --out another folder, or --force",
      path.string()));
}

}  // namespace exhume::cli
