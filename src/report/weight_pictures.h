// Weights as the certificate keeps them for the page (report/page_weights.h).
//
//   images     {"rows", "columns", "units": [[rows x columns weights, row by row], ...]}
//   intervals  {"standard_errors": 1.96, "counts": {"W": n, ...},
//              "weights": [[part, i, j, value, error], ...]}
#pragma once

#include "base/json.h"
#include "exhume/recover.h"

namespace exhume {

// Rows of the first layer as images: where the inputs have a shape, or no names and a square number of them.
// Null elsewhere.
[[nodiscard]] Json image_picture(const Network& network, const Certificate& certificate);

// Weights of one hidden layer with their standard errors: of either layer all, or those with the largest
// errors. Null without errors.
[[nodiscard]] Json interval_picture(const Result& result);

// The same of any depth as a section of the page (report/sections.h), one chart per layer.
[[nodiscard]] Json interval_section(const Result& result);

}  // namespace exhume
