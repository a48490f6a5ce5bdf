// The one writer of certificates, and the one reader.
#pragma once

#include <string>

#include "base/json.h"
#include "exhume/certificate.h"

namespace exhume {

// What one kind of result adds.
struct CertificateParts {
  std::string kind, verdict;
  Json own = Json::object();       // keys of its own, after the route
  Json pictures = Json::object();  // for the eye: numbers rounded, large arrays thinned
  Json sections = Json::array();   // of the page (report/sections.h)
};
[[nodiscard]] std::string write_certificate(const Certificate& certificate, CertificateParts parts);

// As text, with the digest of its content at the end.
[[nodiscard]] std::string sealed(Json json);

// Throws DataError where `text` is not JSON, too deep, or has no status.
[[nodiscard]] Json parse_certificate(const std::string& text);

}  // namespace exhume
