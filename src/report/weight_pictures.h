// Weights as the certificate keeps them for the page (report/page_weights.h).
//
//   heldout    {"observed": [...], "predicted": [...]}
//   residuals  {"low", "width", "counts": [...]}
//   profiles   [{"unit", "output", "at": [...], "mean": [...], "own": [...]}, ...]
//   weights, output_weights    matrices, thinned
//   units      [{"bias", "output_norm", "largest_weight", "largest_weight_input", "active",
//              "max_standard_error"}, ...]
//   images     {"rows", "columns", "units": [[rows x columns weights, row by row], ...]}
//   intervals  {"standard_errors": 1.96, "counts": {"W": n, ...},
//              "weights": [[part, i, j, value, error], ...]}
#pragma once

#include <vector>

#include "base/json.h"
#include "exhume/recover.h"

namespace exhume {

// Outputs of rows that no fit has seen (n x m): predicted against observed, at most 500 points.
[[nodiscard]] Json answer_picture(const RowMatrix& predicted, const RowMatrix& observed);
// Their differences in equal bins over four root mean squares to either side; the outermost bins also count
// what lies beyond. Null where there are none.
[[nodiscard]] Json residual_picture(const RowMatrix& predicted, const RowMatrix& observed);

// Rows along units (exhume/result.h), units and outputs numbered from 1.
[[nodiscard]] Json profile_picture(const std::vector<HingeProfile>& profiles);

// Adds to `pictures` what the page draws of the weights: of one hidden layer heat maps and a table of units,
// of any depth images. `activity`: the share of rows on which each unit is on; `errors`: standard errors;
// either may be empty.
void add_weight_pictures(const Network& network, const Certificate& certificate, Json& pictures,
                         const Vector& activity = {}, const Network& errors = {});

// Rows of the first layer as images: where the inputs have a shape, or no names and a square number of them.
// Null elsewhere.
[[nodiscard]] Json image_picture(const Network& network, const Certificate& certificate);

// Weights of one hidden layer with their standard errors: of either layer all, or those with the largest
// errors. Null without errors.
[[nodiscard]] Json interval_picture(const Result& result);

// The same of any depth as a section of the page (report/sections.h), one chart per layer.
[[nodiscard]] Json interval_section(const Result& result);

}  // namespace exhume
