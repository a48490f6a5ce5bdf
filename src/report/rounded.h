// Numbers for pictures, into certificates and out of them: seven digits are more than any shows.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json.h"
#include "exhume/types.h"

namespace exhume {

[[nodiscard]] inline Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  // std::stod refuses subnormal numbers.
  return std::strtod(fmt::format("{:.6e}", value).c_str(), nullptr);
}

[[nodiscard]] inline Json rounded(const Vector& values, Index at_most) {
  Json list = Json::array();
  for (Index i = 0; i < std::min(values.size(), at_most); ++i) list.push_back(rounded(values(i)));
  return list;
}

[[nodiscard]] inline Json rounded(const Matrix& values) {
  Json rows = Json::array();
  for (Index i = 0; i < values.rows(); ++i) rows.push_back(rounded(Vector(values.row(i)), values.cols()));
  return rows;
}

// A list of numbers out of a certificate; NaN for what is none.
[[nodiscard]] inline std::vector<double> numbers(const Json& list) {
  std::vector<double> values;
  if (!list.is_array()) return values;
  for (const Json& value : list) values.push_back(number_of(value));
  return values;
}

// "s" unless there is one.
[[nodiscard]] inline const char* plural(Index count) { return count == 1 ? "" : "s"; }

}  // namespace exhume
