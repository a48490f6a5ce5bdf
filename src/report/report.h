// What a result has to say, as a file for programs and as a page for people.
//
//   result --make_document--> Document --to_text--> certificate.json
//                                |
//                                +-----to_html--> report.html
//
// The document (certify/certificate_json.h) holds all that the page shows, so the page can be made again from
// certificate.json alone. Keys of its own kind:
//
//   network            inputs, hidden_units, outputs, activation, linear_term, heldout_relative_mse,
//                      training_relative_mse, heldout_mean_square, noise_sd, max_standard_error,
//                      functional_error_bound, confidence, bound_from, signs_identifiable,
//                      identifiability {smallest_singular, epsilon, delta}, support_entries, pictures {...}
//   lowest layer       activation, inputs, hidden_units, rest_level, rest_tolerance, noise_sd,
//                      nonlinear_share, unexplained_share, stray_rate, least_angle, least_threshold,
//                      max_standard_error,
//                      units [{direction, threshold, size, rows, angle_error, threshold_error}]
//   halfspaces         the same, set (intersection | union), labels, agreement, flip_rate
//   deep network       inputs, hidden_units [k_1, ...], outputs, activation, skip_terms, minimal,
//                      heldout_relative_mse, training_relative_mse, heldout_mean_square,
//                      functional_error_bound, confidence, signs_identifiable, smallest_singular [...],
//                      weights_within, students [{widths, trained, polished}]
//   extracted network  oracle, inputs, hidden_units, outputs, activation, slope, precision, reading, queries,
//                      queries_limit, queries_by_stage {...}, low, high, spread, fresh_queries,
//                      logged_worst, fresh_worst, heldout_relative_mse, found_outside_subspace, log_digest
//   memorized network  method, layers, power, inputs, features, hidden_units, outputs, parameters,
//                      relative_error, tolerance, ...
//
// Under `pictures` numbers are rounded to seven digits and large arrays thinned: they are for the eye; the
// network itself is in network.safetensors. `facts` and `sections` are what results other than networks add
// to the page.
//
// The page is one file without scripts or requests: inline SVG, light and dark, fit for a phone and for
// paper. Every string that comes from the user is escaped.
#pragma once

#include <string>
#include <vector>

#include "certify/certificate_json.h"
#include "exhume/extract.h"
#include "exhume/memorize.h"
#include "exhume/papers/threshold.h"
#include "exhume/recover.h"

namespace exhume {

[[nodiscard]] Document make_document(const Result& result);
[[nodiscard]] Document make_document(const LowestLayerResult& result, const UnitProfiles& profiles = {});
[[nodiscard]] Document make_document(const MemorizeResult& result);
[[nodiscard]] Document make_document(const ExtractResult& result);

// The bytes of the certificate.json of a result.
template <class AnyResult, class... More>
[[nodiscard]] std::string to_json(const AnyResult& result, const More&... more) {
  return to_text(make_document(result, more...));
}

// The verdict in one sentence, as page and terminal open with it.
[[nodiscard]] std::string verdict(const Result& result);
[[nodiscard]] std::string verdict(const LowestLayerResult& result);
[[nodiscard]] std::string verdict(const MemorizeResult& result);
[[nodiscard]] std::string verdict(const ExtractResult& result);

// What a terminal shows below the verdict: a few facts with their names.
struct Fact {
  std::string name, value;
};
[[nodiscard]] std::vector<Fact> facts(const Result& result);
[[nodiscard]] std::vector<Fact> facts(const LowestLayerResult& result);
[[nodiscard]] std::vector<Fact> facts(const MemorizeResult& result);
[[nodiscard]] std::vector<Fact> facts(const ExtractResult& result);

// Throws DataError where the document has no status that is one. Missing keys leave their part of the page
// out.
[[nodiscard]] std::string to_html(const Document& document);
// Of the text of a certificate.json; throws DataError where it is not one.
[[nodiscard]] std::string to_html(const std::string& json);

// units.svg: the mean output along every direction, counted from its threshold.
[[nodiscard]] std::string units_picture(const UnitProfiles& profiles);

}  // namespace exhume
