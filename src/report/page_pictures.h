// The pictures of a network's page, drawn from the certificate alone: each a section, empty where the
// certificate has nothing for it.
#pragma once

#include <string>

#include "base/json.h"

namespace exhume {

[[nodiscard]] std::string singular_values_section(const Json& json);
[[nodiscard]] std::string descent_section(const Json& json);
[[nodiscard]] std::string held_out_section(const Json& json);
[[nodiscard]] std::string residuals_section(const Json& json);
[[nodiscard]] std::string timings_section(const Json& json);

}  // namespace exhume
