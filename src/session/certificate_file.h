// certificate.json and the other small files of a result's folder.
#pragma once

#include <filesystem>
#include <string>

#include "certify/certificate_json.h"

namespace exhume {

inline constexpr const char* kCertificateFile = "certificate.json";
inline constexpr const char* kReportFile = "report.html";

// The bytes of a small file of a result. Throws DataError where it cannot be read or is too large for one.
[[nodiscard]] std::string read_small_file(const std::filesystem::path& path);

// The certificate in a folder. What is wrong with it is a DataError that names the file.
[[nodiscard]] Document read_document_in(const std::filesystem::path& folder);

// The same of text that was read from `path` before.
[[nodiscard]] Document read_document_of(const std::string& text, const std::filesystem::path& path);

}  // namespace exhume
