// Options out of range, refused in one sentence that names the field: "hidden is 0, but must be at least 1".
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string_view>

#include "exhume/types.h"

namespace exhume {

inline void require(bool holds, std::string_view field, double value, std::string_view allowed) {
  if (!holds) throw std::invalid_argument(fmt::format("{} is {}, but must be {}", field, value, allowed));
}

inline void require_count(std::string_view field, Index value) {
  require(value >= 1, field, static_cast<double>(value), "at least 1");
}

inline void require_not_negative(std::string_view field, double value) {
  require(value >= 0 && std::isfinite(value), field, value, "a finite number of at least 0");
}

}  // namespace exhume
