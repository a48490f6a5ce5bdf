// Slopes and hinges of noisy data (exhume/result.h, Effect) as the certificate and the page have them.
//
//   intervals  {"confidence": 0.95, "standard_errors": reach, "degrees_of_freedom", "coverage", "withheld":
//   why}
//   effects    [[kind, unit, input, output, value, error, lower, upper], ...]     -1: none; null: open
#pragma once

#include "base/json.h"
#include "exhume/result.h"

namespace exhume {

[[nodiscard]] Json interval_words(const Errors& errors);
[[nodiscard]] Json effects_json(const Errors& errors);
// A table: one line per unit, input and output; null where there are none, or too many for a page.
[[nodiscard]] Json effects_section(const Result& result);

}  // namespace exhume
