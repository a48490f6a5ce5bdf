// What a lowest layer, and a set of halfspaces, have to say.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "certify/certificate_json.h"
#include "report/report.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/svg.h"

namespace exhume {
namespace {

constexpr int kColours = 6;  // of the palette; further lines are dashed
constexpr const char* kProfileTitle = "Mean output along each direction";

svg::Chart profile_chart(const UnitProfiles& profiles) {
  svg::Chart chart;
  chart.title = kProfileTitle;
  chart.x.label = "w.x - t";
  chart.y.label = "mean of y";
  chart.rules = {{.at = 0, .label = "threshold", .vertical = true}};
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    chart.series.push_back({.name = fmt::format("unit {}", i + 1),
                            .x = profiles[i].at,
                            .y = profiles[i].mean,
                            .dashed = i >= kColours});
  }
  return chart;
}

Json unit_list(const LowestLayerResult& result) {
  Json list = Json::array();
  for (Index i = 0; i < result.W.rows(); ++i) {
    const UnitFit& fit = result.fits[static_cast<std::size_t>(i)];
    Json w = Json::array();
    for (Index j = 0; j < result.W.cols(); ++j) w.push_back(number(result.W(i, j)));
    list.push_back({{"direction", w},
                    {"threshold", number(result.t(i))},
                    {"size", number(fit.size)},
                    {"rows", fit.rows},
                    {"angle_error", number(fit.angle_error)},
                    {"threshold_error", number(fit.threshold_error)}});
  }
  return list;
}

Json own_keys(const LowestLayerResult& result) {
  return {{"activation", to_string(result.activation)},
          {"inputs", result.W.cols()},
          {"hidden_units", result.W.rows()},
          {"rest_level", number(result.rest.value)},
          {"rest_tolerance", number(result.rest.tolerance)},
          {"noise_sd", number(result.rest.noise_sd)},
          {"nonlinear_share", number(result.nonlinear_share)},
          {"unexplained_share", number(result.unexplained)},
          {"stray_rate", number(result.stray_rate)},
          {"least_angle", number(result.least_angle)},
          {"least_threshold", number(result.least_threshold)},
          {"max_standard_error", number(result.worst_error)},
          {"units", unit_list(result)}};
}

Json unit_section(const LowestLayerResult& result) {
  constexpr Index kMostRows = 256;
  Json rows = Json::array();
  for (Index i = 0; i < std::min(kMostRows, result.W.rows()); ++i) {
    const UnitFit& fit = result.fits[static_cast<std::size_t>(i)];
    rows.push_back({i + 1, rounded(result.t(i)), rounded(fit.size), rounded(fit.angle_error), fit.rows});
  }
  return table_section(
      "Units", "By decreasing number of rows on which the unit is active alone; errors of angles in radians.",
      {"Unit", "Threshold", "Size", "Angle error", "Rows"}, std::move(rows));
}

Json sections(const LowestLayerResult& result, const std::vector<Fact>& known, const UnitProfiles& profiles) {
  Json list = Json::array();
  list.push_back(facts_section(known));
  if (!profiles.empty()) {
    list.push_back(chart_section(
        kProfileTitle, "A unit that is one bends or jumps where its direction meets its threshold, at 0.",
        profile_chart(profiles)));
  }
  if (result.W.rows() > 0) list.push_back(unit_section(result));
  return list;
}

std::string unit_lines(const LowestLayerResult& result) {
  constexpr Index kShown = 16;
  std::string out;
  for (Index i = 0; i < std::min(kShown, result.W.rows()); ++i) {
    const UnitFit& fit = result.fits[static_cast<std::size_t>(i)];
    out += fmt::format("{}{:>3}: threshold {:.5f}, size {:.4g}, angle error {:.2g}, {} rows",
                       i == 0 ? "" : "\n", i + 1, result.t(i), fit.size, fit.angle_error,
                       svg::group_thousands(fmt::format("{}", fit.rows)));
  }
  if (result.W.rows() > kShown) out += fmt::format("\nand {} more", result.W.rows() - kShown);
  return out;
}

}  // namespace

std::string verdict(const LowestLayerResult& result) {
  if (result.status == Status::kCertified)
    return fmt::format("The lowest layer was found: {}.", result.reason);
  return fmt::format("A lowest layer of {} unit{} was found but is not certified: {}", result.W.rows(),
                     plural(result.W.rows()), result.reason);
}

std::string verdict(const HalfspacesResult& result) {
  const std::string set = fmt::format("{} of {} halfspace{}", result.intersection ? "intersection" : "union",
                                      result.W.rows(), plural(result.W.rows()));
  if (result.status == Status::kCertified) {
    return fmt::format("The {} was found; it agrees with {:.4f}% of the held-out labels.", set,
                       100 * result.agreement);
  }
  return fmt::format("An {} was found but is not certified: {}", set, result.reason);
}

std::vector<Fact> facts(const LowestLayerResult& result) {
  std::vector<Fact> list = {
      {"layer", fmt::format("{} inputs, {} unit{}, activation {}", result.W.cols(), result.W.rows(),
                            plural(result.W.rows()), to_string(result.activation))},
      {"samples",
       fmt::format("{}, of which {} held out", svg::group_thousands(fmt::format("{}", result.samples)),
                   svg::group_thousands(fmt::format("{}", result.held_out)))}};
  if (result.W.rows() > 0) list.push_back({"units", unit_lines(result)});
  if (result.W.rows() > 1) list.push_back({"least angle", fmt::format("{:.3g} radians", result.least_angle)});
  list.push_back({"activity", fmt::format("{:.3g} of it with two or more units, {:.2g} with none",
                                          result.nonlinear_share, result.unexplained)});
  return list;
}

std::vector<Fact> facts(const HalfspacesResult& result) {
  std::vector<Fact> list = facts(static_cast<const LowestLayerResult&>(result));
  list.push_back(
      {"set", fmt::format("{}; agrees with {:.4f}% of the held-out labels, {:.3g}% of them turned around",
                          result.intersection ? "intersection" : "union", 100 * result.agreement,
                          100 * result.flip_rate)});
  return list;
}

Document make_document(const LowestLayerResult& result, const UnitProfiles& profiles) {
  return make_document(result, {.kind = "lowest layer",
                                    .verdict = verdict(result),
                                    .own = own_keys(result),
                                    .sections = sections(result, facts(result), profiles)});
}

Document make_document(const HalfspacesResult& result, const UnitProfiles& profiles) {
  Json own = own_keys(result);
  own["set"] = result.intersection ? "intersection" : "union";
  own["labels"] = {number(result.labels[0]), number(result.labels[1])};
  own["agreement"] = number(result.agreement);
  own["flip_rate"] = number(result.flip_rate);
  return make_document(result, {.kind = "halfspaces",
                                    .verdict = verdict(result),
                                    .own = std::move(own),
                                    .sections = sections(result, facts(result), profiles)});
}

std::string units_picture(const UnitProfiles& profiles) {
  return svg::standalone(svg::draw(profile_chart(profiles)));
}

}  // namespace exhume
