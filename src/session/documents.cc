#include "session/documents.h"

#include "report/compare_report.h"

namespace exhume {

Json to_document(const VerifyResult& result) {
  constexpr double kUnasked = 1e-12;  // what the key has always said where no tolerance was asked for
  Json json = {{"verified", result.verified}, {"agrees", result.agrees}};
  if (!result.status.empty()) json["status"] = result.status;
  if (result.rows) {
    const Verification& rows = *result.rows;
    json.update({{"relative_mse", number(rows.relative_mse)},
                 {"tolerance", number(result.accepted.value_or(kUnasked))},
                 {"rms_error", number(rows.rms_error)},
                 {"worst_error", number(rows.worst_error)},
                 {"worst_row", rows.worst_row + 1},
                 {"worst_output", rows.worst_output + 1},
                 {"rows", rows.rows}});
  }
  json["findings"] = Json::array();
  for (const Finding& f : result.findings) {
    json["findings"].push_back({{"part", f.part},
                                {"good", f.outcome == Outcome::kGood},
                                {"checked", f.outcome != Outcome::kUnchecked},
                                {"words", f.words}});
  }
  return json;
}

Json to_document(const Outlook& found, const std::vector<std::string>& input_names,
                 const std::vector<std::string>& output_names) {
  Json json = {{"fits", found.fits()},
               {"rows", found.rows},
               {"rows_looked_at", found.looked_at},
               {"distinct_rows_looked_at", found.distinct},
               {"inputs", found.inputs},
               {"outputs", found.outputs},
               {"precision", found.precision},
               {"gaussian", found.inspection.gaussian},
               {"symmetric", found.inspection.symmetric},
               {"linear_share", number(found.linear_share)},
               {"most_hidden", found.most_hidden},
               {"memory_bytes", number(found.memory_bytes)},
               {"tests", Json::array()},
               {"routes", Json::array()},
               {"obstacles", found.obstacles},
               {"advice", found.advice}};
  if (!input_names.empty()) json["input_names"] = input_names;
  if (!output_names.empty()) json["output_names"] = output_names;
  for (const Assumption& a : found.inspection.tests) {
    json["tests"].push_back({{"name", a.name},
                             {"value", number(a.value)},
                             {"threshold", number(a.threshold)},
                             {"holds", a.holds}});
  }
  for (const RouteOutlook& route : found.routes)
    json["routes"].push_back({{"route", route.route}, {"applies", route.applies}, {"why", route.why}});
  return json;
}

Json to_document(const CompareResult& found) { return comparison_json(found); }

Json to_document(const SymmetricOutlook& found) {
  Json json = {{"symmetric", found.symmetry.holds()},
               {"symmetry_statistic", found.symmetry.statistic},
               {"symmetry_threshold", found.symmetry.threshold},
               {"hidden_units", found.hidden},
               {"detector", to_string(found.outcome)},
               {"detector_gap", found.detector.signal},
               {"detector_noise", found.detector.noise},
               {"samples", found.samples},
               {"samples_needed", found.detector.samples_needed}};
  if (found.distinguishing) {
    json["distinguishing_least"] = found.distinguishing->least_n;
    json["distinguishing_largest"] = found.distinguishing->largest_n;
    json["augmented_least"] = found.distinguishing->least_m;
    json["augmented_largest"] = found.distinguishing->largest_m;
  }
  return json;
}

}  // namespace exhume
