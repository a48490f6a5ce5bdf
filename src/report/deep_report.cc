// What a network of several hidden layers has to say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "certify/certificate_json.h"
#include "report/deep_intervals.h"
#include "report/report.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/svg.h"

namespace exhume {
namespace {

constexpr Index kDeepPoints = 500;  // of the picture of held-out rows

std::string shape_words(const DeepResult& result) {
  const std::vector<Index> widths = result.network.widths();
  return fmt::format("{}-{}-{}", result.network.inputs(), fmt::join(widths, "-"), result.network.outputs());
}

Json own_keys(const DeepResult& result) {
  Json students = Json::array();
  for (const DeepAttempt& attempt : result.attempts) {
    students.push_back({{"widths", attempt.student},
                        {"trained", number(attempt.trained)},
                        {"polished", number(attempt.polished)}});
  }
  Json singular = Json::array();
  for (double value : result.smallest_singular) singular.push_back(number(value));
  return {{"inputs", result.network.inputs()},
          {"hidden_units", result.network.widths()},
          {"outputs", result.network.outputs()},
          {"activation", "relu"},
          {"skip_terms", !result.plain},
          {"minimal", result.minimal},
          {"precision", result.precision},
          {"heldout_relative_mse", number(result.heldout_relative_mse)},
          {"training_relative_mse", number(result.training_relative_mse)},
          {"noise_sd", number(result.noise_sd)},
          {"max_standard_error", number(result.max_standard_error)},
          {"heldout_mean_square", number(result.heldout_mean_square)},
          {"functional_error_bound", number(result.functional_error_bound)},
          {"confidence", number(result.confidence)},
          {"signs_identifiable", result.signs_identifiable},
          {"smallest_singular", std::move(singular)},
          {"weights_within", number(result.weights_within)},
          {"students", std::move(students)}};
}

// Predicted against observed, on rows that were held out.
svg::Chart heldout_chart(const DeepResult& result) {
  svg::Chart chart;
  chart.title = "Held-out rows";
  chart.x.label = "observed";
  chart.y.label = "predicted";
  svg::Series points{.x = {}, .y = {}};
  const Index rows = std::min(result.predicted.rows(), result.observed.rows());
  for (Index r = 0; r < std::min(rows, kDeepPoints); ++r) {
    points.x.push_back(result.observed(r, r % result.observed.cols()));
    points.y.push_back(result.predicted(r, r % result.predicted.cols()));
  }
  points.points = true;
  points.line = false;
  chart.diagonal = true;
  chart.series.push_back(std::move(points));
  return chart;
}

Json student_section(const DeepResult& result) {
  Json rows = Json::array();
  for (const DeepAttempt& attempt : result.attempts) {
    rows.push_back({fmt::format("{}", fmt::join(attempt.student, "-")), rounded(attempt.trained),
                    attempt.polished > 0 ? Json(rounded(attempt.polished)) : Json("-")});
  }
  return table_section(
      "Students",
      "Widths that were tried, what they left of the variance, and what the polish of all layers "
      "made of it.",
      {"Units", "Trained to", "Polished to"}, std::move(rows));
}

Json sections(const DeepResult& result) {
  Json list = Json::array();
  list.push_back(facts_section(facts(result)));
  list.push_back(network_section("Layers", "Orange: positive, blue: negative; stronger is bolder.",
                                 svg::picture_of(result.network)));
  if (result.predicted.rows() > 0) {
    const Index shown = std::min(result.predicted.rows(), kDeepPoints);
    list.push_back(chart_section(
        "Held-out rows",
        fmt::format(
            "{}{} rows that no fit has seen, one output of each: on the line where the network is right.",
            shown, shown < result.held_out ? fmt::format(" of {}", result.held_out) : std::string()),
        heldout_chart(result)));
  }
  if (Json intervals = deep_intervals(result); !intervals.is_null()) list.push_back(std::move(intervals));
  if (!result.attempts.empty()) list.push_back(student_section(result));
  return list;
}

}  // namespace

std::string verdict(const DeepResult& result) {
  if (result.status == Status::kCertified) {
    return fmt::format("The network was recovered: {}, to {}.", shape_words(result), result.precision);
  }
  if (result.status == Status::kEstimated) {
    return fmt::format(
        "A network {} was estimated from samples with noise of standard deviation {:.3g}: if they are those "
        "of "
        "such a network plus independent noise, every weight is known to a standard error of {:.2g} or less.",
        shape_words(result), result.noise_sd, result.max_standard_error);
  }
  return fmt::format("A network {} was found but is not certified: {}", shape_words(result), result.reason);
}

std::vector<Fact> facts(const DeepResult& result) {
  std::vector<Fact> list = {
      {"network", fmt::format("{} inputs, hidden layers of {} units, {} outputs{}", result.network.inputs(),
                              fmt::join(result.network.widths(), " and "), result.network.outputs(),
                              result.plain ? "" : ", with skip terms")},
      {"samples",
       fmt::format("{}, of which {} held out", svg::group_thousands(fmt::format("{}", result.samples)),
                   svg::group_thousands(fmt::format("{}", result.held_out)))},
      {"held-out error", fmt::format("{:.2g} of the variance", result.heldout_relative_mse)}};
  if (result.noise_sd > 0)
    list.push_back({"noise", fmt::format("standard deviation {:.3g}", result.noise_sd)});
  if (result.max_standard_error > 0)
    list.push_back({"standard errors", fmt::format("{:.2g} at most", result.max_standard_error)});
  if (!result.smallest_singular.empty()) {
    std::string values;
    for (double value : result.smallest_singular)
      values += fmt::format("{}{:.2g}", values.empty() ? "" : ", ", value);
    list.push_back({"determined", fmt::format("smallest singular value by layer {}", values)});
  }
  list.push_back({"students", fmt::format("{} trained or peeled", result.attempts.size())});
  return list;
}

Document make_document(const DeepResult& result) {
  return make_document(result, {.kind = "deep network",
                                    .verdict = verdict(result),
                                    .own = own_keys(result),
                                    .sections = sections(result)});
}

}  // namespace exhume
