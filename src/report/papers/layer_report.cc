// What a lowest layer, and a set of halfspaces, have to say.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "certify/certificate_json.h"
#include "report/report.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/svg.h"

namespace exhume {
namespace {

constexpr int kColours = 6;  // of the palette; further lines are dashed
constexpr const char* kProfileTitle = "Mean output along each direction";

const char* kind_of(const HalfspaceSet& set) { return set.intersection ? "intersection" : "union"; }

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

Json unit_list(const LowestLayer& layer) {
  Json list = Json::array();
  for (Index i = 0; i < layer.W.rows(); ++i) {
    const UnitFit& fit = layer.fits[static_cast<std::size_t>(i)];
    Json w = Json::array();
    for (Index j = 0; j < layer.W.cols(); ++j) w.push_back(number(layer.W(i, j)));
    list.push_back({{"direction", w},
                    {"threshold", number(layer.t(i))},
                    {"size", number(fit.size)},
                    {"rows", fit.rows},
                    {"angle_error", number(fit.angle_error)},
                    {"threshold_error", number(fit.threshold_error)}});
  }
  return list;
}

Json own_keys(const LowestLayer& layer) {
  return {{"activation", to_string(layer.activation)},
          {"inputs", layer.W.cols()},
          {"hidden_units", layer.W.rows()},
          {"rest_level", number(layer.rest.value)},
          {"rest_tolerance", number(layer.rest.tolerance)},
          {"noise_sd", number(layer.rest.noise_sd)},
          {"nonlinear_share", number(layer.nonlinear_share)},
          {"unexplained_share", number(layer.unexplained)},
          {"stray_rate", number(layer.stray_rate)},
          {"least_angle", number(layer.least_angle)},
          {"least_threshold", number(layer.least_threshold)},
          {"max_standard_error", number(layer.worst_error)},
          {"units", unit_list(layer)}};
}

Json unit_section(const LowestLayer& layer) {
  constexpr Index kMostRows = 256;
  Json rows = Json::array();
  for (Index i = 0; i < std::min(kMostRows, layer.W.rows()); ++i) {
    const UnitFit& fit = layer.fits[static_cast<std::size_t>(i)];
    rows.push_back({i + 1, rounded(layer.t(i)), rounded(fit.size), rounded(fit.angle_error), fit.rows});
  }
  return table_section(
      "Units", "By decreasing number of rows on which the unit is active alone; errors of angles in radians.",
      {"Unit", "Threshold", "Size", "Angle error", "Rows"}, std::move(rows));
}

Json sections(const LowestLayer& layer, const std::vector<Fact>& known, const UnitProfiles& profiles) {
  Json list = Json::array();
  list.push_back(facts_section(known));
  if (!profiles.empty()) {
    list.push_back(chart_section(
        kProfileTitle, "The curve of a true unit bends or jumps at its threshold, which is drawn at 0.",
        profile_chart(profiles)));
  }
  if (layer.W.rows() > 0) list.push_back(unit_section(layer));
  return list;
}

std::string unit_lines(const LowestLayer& layer) {
  constexpr Index kShown = 16;
  std::string out;
  for (Index i = 0; i < std::min(kShown, layer.W.rows()); ++i) {
    const UnitFit& fit = layer.fits[static_cast<std::size_t>(i)];
    out += fmt::format("{}{:>3}: threshold {:.5f}, size {:.4g}, angle error {:.2g}, {} row{}",
                       i == 0 ? "" : "\n", i + 1, layer.t(i), fit.size, fit.angle_error,
                       svg::group_thousands(fmt::format("{}", fit.rows)), plural(fit.rows));
  }
  if (layer.W.rows() > kShown) out += fmt::format("\nand {} more", layer.W.rows() - kShown);
  return out;
}

}  // namespace

std::string verdict(const LowestLayerResult& result) {
  const Certificate& certificate = result.certificate;
  const Index units = result.layer.W.rows();
  if (certificate.status == Status::kRefused)
    return fmt::format("No lowest layer was returned: {}.", certificate.reason);
  const bool certified = certificate.status == Status::kCertified;
  if (result.set) {
    const std::string set = fmt::format("{} of {} halfspace{}", kind_of(*result.set), units, plural(units));
    if (!certified) return fmt::format("An {} was found but is not certified: {}.", set, certificate.reason);
    return fmt::format("The {} was found; it agrees with {:.4f}% of the held-out labels.", set,
                       100 * result.set->agreement);
  }
  if (certified) return fmt::format("The lowest layer was found: {}.", certificate.reason);
  return fmt::format("A lowest layer of {} unit{} was found but is not certified: {}.", units, plural(units),
                     certificate.reason);
}

std::vector<Fact> facts(const LowestLayerResult& result) {
  const LowestLayer& layer = result.layer;
  const Index units = layer.W.rows();
  const auto grouped = [](Index rows) { return svg::group_thousands(fmt::format("{}", rows)); };
  std::vector<Fact> list = {
      {"layer", fmt::format("{}, {}, activation {}", counted(layer.W.cols(), "input"), counted(units, "unit"),
                            to_string(layer.activation))},
      {"samples", fmt::format("{}, of which {} held out", grouped(result.certificate.samples),
                              grouped(result.certificate.held_out))}};
  if (units > 0) list.push_back({"units", unit_lines(layer)});
  if (units > 1) list.push_back({"least angle", fmt::format("{:.3g} radians", layer.least_angle)});
  list.push_back({"activity", fmt::format("{:.3g} of it with two or more units, {:.2g} with none",
                                          layer.nonlinear_share, layer.unexplained)});
  if (!result.set) return list;
  list.push_back(
      {"set", fmt::format("{}; agrees with {:.4f}% of the held-out labels, {:.3g}% of them turned around",
                          kind_of(*result.set), 100 * result.set->agreement, 100 * result.set->flip_rate)});
  return list;
}

Document make_document(const LowestLayerResult& result, const UnitProfiles& profiles) {
  Json own = own_keys(result.layer);
  if (result.set) {
    own["set"] = kind_of(*result.set);
    own["labels"] = {number(result.set->labels[0]), number(result.set->labels[1])};
    own["agreement"] = number(result.set->agreement);
    own["flip_rate"] = number(result.set->flip_rate);
  }
  return make_document(result.certificate, {.kind = result.set ? "halfspaces" : "lowest layer",
                                            .verdict = verdict(result),
                                            .own = std::move(own),
                                            .sections = sections(result.layer, facts(result), profiles)});
}

std::string units_picture(const UnitProfiles& profiles) {
  return svg::standalone(svg::draw(profile_chart(profiles)));
}

}  // namespace exhume
