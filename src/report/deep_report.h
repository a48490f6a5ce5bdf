// What a network of several hidden layers has to say; report/report.h asks for it.
#pragma once

#include <string>
#include <vector>

#include "certify/certificate_json.h"
#include "report/report.h"

namespace exhume {

[[nodiscard]] CertificateParts deep_parts(const Result& result);
[[nodiscard]] std::string deep_verdict(const Result& result);
[[nodiscard]] std::vector<Fact> deep_facts(const Result& result);

}  // namespace exhume
