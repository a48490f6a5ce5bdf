// The weights of a network on its page: heat maps, images, intervals, units, and beside the true ones. Drawn
// from the certificate alone; empty where it has nothing for them.
#pragma once

#include <string>

#include "base/json.h"

namespace exhume {

[[nodiscard]] std::string truth_section(const Json& json);
[[nodiscard]] std::string images_section(const Json& json);
[[nodiscard]] std::string heat_sections(const Json& json);
[[nodiscard]] std::string interval_sections(const Json& json);
[[nodiscard]] std::string units_section(const Json& json);
// Rows along each unit: the output less what the other units contribute, and the unit itself.
[[nodiscard]] std::string profiles_section(const Json& json);

}  // namespace exhume
