// What a network of several hidden layers has to say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "report/deep_intervals.h"
#include "report/deep_report.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/svg.h"

namespace exhume {
namespace {

constexpr Index kDeepPoints = 500;  // of the picture of held-out rows

std::string shape_words(const Result& result) {
  const std::vector<Index> widths = result.network.widths();
  return fmt::format("{}-{}-{}", result.network.inputs(), fmt::join(widths, "-"), result.network.outputs());
}

Json own_keys(const Result& result) {
  Json students = Json::array();
  for (const StudentTrial& student : result.diagnostics.students) {
    students.push_back({{"widths", student.widths},
                        {"trained", number(student.trained)},
                        {"polished", number(student.polished)}});
  }
  Json singular = Json::array();
  for (double value : result.errors.smallest_singular) singular.push_back(number(value));
  return {{"inputs", result.network.inputs()},
          {"hidden_units", result.network.widths()},
          {"outputs", result.network.outputs()},
          {"activation", "relu"},
          {"skip_terms", !result.plain},
          {"minimal", result.minimal},
          {"precision", result.precision},
          {"heldout_relative_mse", number(result.errors.heldout_relative_mse)},
          {"training_relative_mse", number(result.errors.training_relative_mse)},
          {"noise_sd", number(result.errors.noise_sd)},
          {"max_standard_error", number(result.errors.max_standard_error)},
          {"heldout_mean_square", number(result.errors.heldout_mean_square)},
          {"functional_error_bound", number(result.errors.functional_error_bound)},
          {"confidence", number(result.errors.confidence)},
          {"signs_identifiable", result.signs_identifiable},
          {"smallest_singular", std::move(singular)},
          {"weights_within", number(result.errors.weights_within)},
          {"students", std::move(students)}};
}

// Predicted against observed, on rows that were held out.
svg::Chart heldout_chart(const Result& result) {
  svg::Chart chart;
  chart.title = "Held-out rows";
  chart.x.label = "observed";
  chart.y.label = "predicted";
  svg::Series points{.x = {}, .y = {}};
  const Index rows = std::min(result.diagnostics.predicted.rows(), result.diagnostics.observed.rows());
  for (Index r = 0; r < std::min(rows, kDeepPoints); ++r) {
    points.x.push_back(result.diagnostics.observed(r, r % result.diagnostics.observed.cols()));
    points.y.push_back(result.diagnostics.predicted(r, r % result.diagnostics.predicted.cols()));
  }
  points.points = true;
  points.line = false;
  chart.diagonal = true;
  chart.series.push_back(std::move(points));
  return chart;
}

Json student_section(const Result& result) {
  Json rows = Json::array();
  for (const StudentTrial& student : result.diagnostics.students) {
    rows.push_back({fmt::format("{}", fmt::join(student.widths, "-")), rounded(student.trained),
                    student.polished > 0 ? Json(rounded(student.polished)) : Json("-")});
  }
  return table_section(
      "Students",
      "Widths that were tried, what they left of the variance, and what the polish of all layers "
      "made of it.",
      {"Units", "Trained to", "Polished to"}, std::move(rows));
}

Json sections(const Result& result) {
  Json list = Json::array();
  list.push_back(facts_section(deep_facts(result)));
  list.push_back(network_section("Layers", "Orange: positive, blue: negative; stronger is bolder.",
                                 svg::picture_of(result.network)));
  if (result.diagnostics.predicted.rows() > 0) {
    const Index shown = std::min(result.diagnostics.predicted.rows(), kDeepPoints);
    list.push_back(chart_section(
        "Held-out rows",
        fmt::format(
            "{}{} rows that no fit has seen, one output of each: on the line where the network is right.",
            shown,
            shown < result.certificate.held_out ? fmt::format(" of {}", result.certificate.held_out)
                                                : std::string()),
        heldout_chart(result)));
  }
  if (Json intervals = deep_intervals(result); !intervals.is_null()) list.push_back(std::move(intervals));
  if (!result.diagnostics.students.empty()) list.push_back(student_section(result));
  return list;
}

}  // namespace

std::string deep_verdict(const Result& result) {
  if (result.certificate.status == Status::kCertified) {
    return fmt::format("The network was recovered: {}, to {}.", shape_words(result), result.precision);
  }
  if (result.certificate.status == Status::kEstimated) {
    return fmt::format(
        "A network {} was estimated from samples with noise of standard deviation {:.3g}: if they are those "
        "of "
        "such a network plus independent noise, every weight is known to a standard error of {:.2g} or less.",
        shape_words(result), result.errors.noise_sd, result.errors.max_standard_error);
  }
  return fmt::format("A network {} was found but is not certified: {}", shape_words(result),
                     result.certificate.reason);
}

std::vector<Fact> deep_facts(const Result& result) {
  std::vector<Fact> list = {
      {"network", fmt::format("{} inputs, hidden layers of {} units, {} outputs{}", result.network.inputs(),
                              fmt::join(result.network.widths(), " and "), result.network.outputs(),
                              result.plain ? "" : ", with skip terms")},
      {"samples", fmt::format("{}, of which {} held out",
                              svg::group_thousands(fmt::format("{}", result.certificate.samples)),
                              svg::group_thousands(fmt::format("{}", result.certificate.held_out)))},
      {"held-out error", fmt::format("{:.2g} of the variance", result.errors.heldout_relative_mse)}};
  if (result.errors.noise_sd > 0)
    list.push_back({"noise", fmt::format("standard deviation {:.3g}", result.errors.noise_sd)});
  if (result.errors.max_standard_error > 0)
    list.push_back({"standard errors", fmt::format("{:.2g} at most", result.errors.max_standard_error)});
  if (!result.errors.smallest_singular.empty()) {
    std::string values;
    for (double value : result.errors.smallest_singular)
      values += fmt::format("{}{:.2g}", values.empty() ? "" : ", ", value);
    list.push_back({"determined", fmt::format("smallest singular value by layer {}", values)});
  }
  list.push_back({"students", fmt::format("{} trained or peeled", result.diagnostics.students.size())});
  return list;
}

CertificateParts deep_parts(const Result& result) {
  return {.kind = "deep network",
          .verdict = deep_verdict(result),
          .own = own_keys(result),
          .sections = sections(result)};
}

}  // namespace exhume
