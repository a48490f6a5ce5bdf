// What commands answer as JSON: for `--json` and for Python's dictionaries.
#pragma once

#include "base/json.h"
#include "exhume/compare.h"
#include "exhume/inspect.h"
#include "exhume/verify.h"
#include "io/open.h"
#include "session/diagnose.h"

namespace exhume {

// verified, agrees, status, relative_mse, tolerance, rms_error, worst_error, worst_row and worst_output (from
// 1), rows, findings [{part, good, checked, words}].
[[nodiscard]] Json to_document(const VerifyResult& result);

// fits, rows, rows_looked_at, distinct_rows_looked_at, inputs, outputs, precision, gaussian, symmetric,
// linear_share, most_hidden, memory_bytes, tests [...], routes [...], obstacles, advice, input_names,
// output_names.
[[nodiscard]] Json to_document(const Outlook& found, const std::vector<std::string>& input_names,
                               const std::vector<std::string>& output_names);

// verdict, same, reason, first, second, low, high, tolerance, within_tolerance (where one was given),
// worst_difference, worst_input, first_outputs, second_outputs, simple_input, simple_difference,
// bound {lower, upper}, boxes, units {matched, changed, missing, extra}, arithmetic, queries,
// random_queries, confidence, unseen_share, remarks; of two networks comparable, worst_error, rms_error of
// their parameters, and layers.
[[nodiscard]] Json to_document(const CompareResult& found);

// symmetric, symmetry_statistic, symmetry_threshold, hidden_units, detector, detector_gap, detector_noise,
// samples, samples_needed; of a network distinguishing_least, distinguishing_largest, augmented_least,
// augmented_largest.
[[nodiscard]] Json to_document(const SymmetricOutlook& found);

}  // namespace exhume
