#include "report/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "certify/certificate_json.h"
#include "report/report_page.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/svg.h"

namespace exhume {
namespace {

constexpr Index kInputsShown = 32;      // of a worst input, on the page
constexpr std::size_t kRowsShown = 24;  // of a table of units
constexpr std::size_t kUnitsListed = 1000;
constexpr Index kMostInputs = 4096;  // entries of an input in the certificate

Json vector_json(const Vector& v) {
  Json list = Json::array();
  for (Index i = 0; i < std::min(v.size(), kMostInputs); ++i) list.push_back(number(v(i)));
  return list;
}

Json row_json(Index row) { return row < 0 ? Json(nullptr) : Json(row + 1); }

Json unit_json(const ComparedUnit& unit) {
  Json json = {{"layer", unit.layer + 1},
               {"first_row", row_json(unit.first_row)},
               {"second_row", row_json(unit.second_row)}};
  if (!unit.weight.empty()) json["weight"] = unit.weight;
  if (unit.change > 0) {
    json["change"] = number(unit.change);
    json["first_weight"] = number(unit.first_weight);
    json["second_weight"] = number(unit.second_weight);
  }
  if (unit.weights.size() > 0) {
    json["acts"] = unit.acts;
    json["share"] = number(unit.share);
    json["weights"] = vector_json(unit.weights.head(unit.weights.size() - 1));
    json["bias"] = number(unit.weights(unit.weights.size() - 1));
  }
  if (unit.input.size() > 0) json["input"] = vector_json(unit.input);
  return json;
}

Json units_json(const std::vector<ComparedUnit>& units) {
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(units.size(), kUnitsListed); ++i) list.push_back(unit_json(units[i]));
  return list;
}

void add_parameters(const NetworkComparison& found, Json& json) {
  json["comparable"] = found.comparable;
  json["worst_error"] = number(found.worst_error);
  json["rms_error"] = number(found.rms_error);
  json["first_shape"] = found.first_shape;
  json["second_shape"] = found.second_shape;
  if (!found.deep) {
    json["pairs"] = Json::array();
    for (const UnitDifference& u : found.units) {
      json["pairs"].push_back({{"first", u.first + 1},
                               {"second", u.second + 1},
                               {"turned", u.turned},
                               {"weights", u.weights},
                               {"bias", u.bias},
                               {"outputs", u.outputs}});
    }
    return;
  }
  json["first_units"] = found.first_units;
  json["second_units"] = found.second_units;
  json["layers"] = Json::array();
  for (std::size_t l = 0; l < found.layers.size(); ++l) {
    const LayerDifference& layer = found.layers[l];
    Json one = {{"layer", l + 1}, {"units", layer.units}, {"worst_error", number(layer.worst_error)}};
    if (l + 1 < found.layers.size()) {
      one["match"] = Json::array();
      for (const Index j : layer.match) one["match"].push_back(j + 1);
    }
    json["layers"].push_back(std::move(one));
  }
}

// Keys without the verdict.
Json body(const CompareResult& found) {
  Json json = {{"same", found.same()},
               {"first", found.first},
               {"second", found.second},
               {"low", vector_json(found.low)},
               {"high", vector_json(found.high)},
               {"domain_given", found.domain_given}};
  json["tolerance"] = found.tolerance ? number(*found.tolerance) : Json(nullptr);
  if (found.tolerance) json["within_tolerance"] = found.same();
  json["accepted"] = number(found.accepted);
  json["worst_difference"] = number(found.worst_difference);
  json["worst_input"] = vector_json(found.worst_input);
  json["first_outputs"] = vector_json(found.first_outputs);
  json["second_outputs"] = vector_json(found.second_outputs);
  if (found.simple_input.size() > 0) {
    json["simple_input"] = vector_json(found.simple_input);
    json["simple_difference"] = number(found.simple_difference);
    json["simple_words"] = found.simple_words;
  }
  json["bound"] = {{"lower", number(found.lower)}, {"upper", number(found.upper)}};
  json["boxes"] = found.boxes;
  json["leaves"] = found.leaves;
  json["units"] = {{"matched", found.matched},
                   {"changed", units_json(found.changed)},
                   {"missing", units_json(found.missing)},
                   {"extra", units_json(found.extra)}};
  json["arithmetic"] = found.arithmetic.empty() ? Json(nullptr) : Json(found.arithmetic);
  json["queries"] = found.queries;
  if (found.black_box) {
    json["random_queries"] = found.random_queries;
    json["kink_queries"] = found.kink_queries;
    json["far_queries"] = found.far_queries;
  }
  json["confidence"] = found.black_box ? number(found.confidence) : Json(nullptr);
  json["unseen_share"] = found.black_box && found.same() ? number(found.unseen_share) : Json(nullptr);
  if (found.parameters) add_parameters(*found.parameters, json);
  return json;
}

std::string entries_words(const Vector& x) {
  std::string text;
  for (Index i = 0; i < std::min(x.size(), kInputsShown); ++i)
    text += fmt::format("{}{:.6g}", i == 0 ? "" : ", ", x(i));
  return x.size() > kInputsShown ? fmt::format("{} and {} more", text, x.size() - kInputsShown) : text;
}

// Counts of log10 D: where D is zero stands in the text.
void add_histogram(const char* heading, const Vector& differences, Json& list) {
  if (differences.size() == 0) return;
  const double most = differences.maxCoeff();
  if (!(most > 0) || !std::isfinite(most)) return;
  constexpr int kBins = 24;
  const double high = std::log10(most);
  double least = most;
  Index zeros = 0;
  for (const double d : differences) {
    if (d > 0) least = std::min(least, d);
    zeros += d > 0 ? 0 : 1;
  }
  const double low = std::max(std::log10(least), high - 16) - 1e-9;
  std::vector<double> count(kBins, 0);
  for (const double d : differences) {
    if (!(d > 0)) continue;
    const double at = (std::log10(d) - low) / std::max(high - low, 1e-9) * kBins;
    count[static_cast<std::size_t>(std::clamp(static_cast<int>(at), 0, kBins - 1))] += 1;
  }
  svg::Chart chart;
  svg::Series series;
  for (int b = 0; b < kBins; ++b) {
    for (const int side : {0, 1}) {
      series.x.push_back(low + (b + side) * (high - low) / kBins);
      series.y.push_back(count[static_cast<std::size_t>(b)]);
    }
  }
  series.name = "inputs";
  chart.x.label = "log10 of the difference";
  chart.y.label = "inputs";
  chart.series.push_back(std::move(series));
  list.push_back(
      chart_section(heading,
                    fmt::format("{} inputs, largest difference {:.3g}; at {} of them there is none.",
                                differences.size(), most, zeros),
                    chart));
}

void add_units(const char* heading, const char* text, const std::vector<ComparedUnit>& units, Json& list) {
  if (units.empty()) return;
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(units.size(), kRowsShown); ++i) {
    const ComparedUnit& u = units[i];
    const auto row = [](Index r) { return r < 0 ? std::string("none") : fmt::format("{}", r + 1); };
    std::string what = u.weight;
    if (u.change > 0) {
      const auto [p, q] = told_apart(u.first_weight, u.second_weight);
      what += fmt::format(": {} and {}", p, q);
    }
    if (u.weights.size() > 0) {
      what += what.empty() ? "" : "; ";
      what += !u.acts        ? std::string("no input of the domain was found that activates it")
              : u.share == 0 ? std::string("active at none of the random inputs")
                             : fmt::format("active at {:.3g}% of random inputs", 100 * u.share);
    }
    rows.push_back({fmt::format("{}", u.layer + 1), row(u.first_row), row(u.second_row), what,
                    u.input.size() > 0 ? fmt::format("({})", entries_words(u.input)) : std::string()});
  }
  list.push_back(table_section(
      heading, text, {"Layer", "Row in first", "Row in second", "What", "Activated by"}, std::move(rows)));
}

// Largest changes of weights by layer, thinned for the eye.
void add_heat_maps(const CompareResult& found, Json& list) {
  for (std::size_t l = 0; l < found.weight_changes.size(); ++l) {
    const Matrix& change = found.weight_changes[l];
    if (change.size() == 0 || change.isZero(0)) continue;
    const std::string layer =
        l + 1 < found.weight_changes.size() ? fmt::format("layer {}", l + 1) : "outputs";
    list.push_back(heat_map_section(
        "Weight changes, " + layer,
        "Second minus first, after matching the units. A stronger colour is a larger change.", change));
  }
}

Json sections_of(const CompareResult& found) {
  Json list = Json::array();
  std::vector<Fact> shown = facts(found);
  if (const Index inputs = found.random_differences.size();
      inputs > 0 && found.random_differences.isZero(0)) {
    shown.push_back(
        {"random inputs", fmt::format("no difference at any of {}", grouped(static_cast<double>(inputs)))});
  }
  list.push_back(facts_section(shown));
  if (found.worst_input.size() > 0) {
    Json rows = Json::array();
    for (Index o = 0; o < std::min(found.first_outputs.size(), kInputsShown); ++o) {
      const double gap = found.second_outputs(o) - found.first_outputs(o);
      const auto [p, q] = told_apart(found.first_outputs(o), found.second_outputs(o));
      rows.push_back({fmt::format("{}", o + 1), p, q, fmt::format("{:.3g}", gap)});
    }
    std::string text = fmt::format("x = ({}).", entries_words(found.worst_input));
    if (found.simple_input.size() > 0 && found.simple_input != found.worst_input) {
      text += fmt::format(" A simpler one, with a difference of {:.3g}: {}, x = ({}).",
                          found.simple_difference, found.simple_words, entries_words(found.simple_input));
    }
    list.push_back(
        table_section("The worst input", text, {"Output", "First", "Second", "Difference"}, std::move(rows)));
  }
  add_histogram("Differences over the domain", found.random_differences, list);
  add_histogram("Differences at the rows of data", found.row_differences, list);
  add_units("Units that are extra", "In the second alone.", found.extra, list);
  add_units("Units that are missing", "In the first alone.", found.missing, list);
  add_units("Units with other weights", "The weight that changed most, in the scale of the first.",
            found.changed, list);
  add_heat_maps(found, list);
  return list;
}

}  // namespace

std::pair<std::string, std::string> told_apart(double a, double b) {
  constexpr int kUsualDigits = 6, kMostDigits = 17;
  for (int digits = kUsualDigits;; ++digits) {
    std::pair<std::string, std::string> shown{fmt::format("{:.{}g}", a, digits),
                                              fmt::format("{:.{}g}", b, digits)};
    if (shown.first != shown.second || a == b || digits == kMostDigits) return shown;
  }
}

Json comparison_json(const CompareResult& found) {
  Json json = {{"verdict", to_string(found.verdict)}, {"reason", found.reason}};
  json.update(body(found));
  json["remarks"] = found.remarks;
  return json;
}

std::string verdict(const CompareResult& found) {
  std::string text = found.reason;
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::vector<Fact> facts(const CompareResult& found) {
  std::vector<Fact> list = {{"first", found.first}, {"second", found.second}};
  const bool one = found.low.size() > 0 && (found.low.array() == found.low(0)).all() &&
                   (found.high.array() == found.high(0)).all();
  if (found.low.size() > 0) {
    list.push_back({"domain", (one ? fmt::format("{} from {:g} to {:g}", counted(found.low.size(), "input"),
                                                 found.low(0), found.high(0))
                                   : "a box of " + counted(found.low.size(), "input")) +
                                  (found.domain_given ? "" : ", since none was given")});
  }
  if (std::isfinite(found.worst_difference))
    list.push_back({"worst difference", fmt::format("{:.3g} found", found.worst_difference)});
  if (std::isfinite(found.upper) && found.low.size() > 0) {
    list.push_back({"proved", fmt::format("{:.6g} <= max |f - g| <= {:.6g}, with {} box{}", found.lower,
                                          found.upper, found.boxes, found.boxes == 1 ? "" : "es")});
  }
  if (!found.arithmetic.empty()) list.push_back({"rounding", found.arithmetic});
  if (!found.black_box && found.low.size() > 0) {
    list.push_back({"units", fmt::format("{} match, {} changed, {} missing, {} extra", found.matched,
                                         found.changed.size(), found.missing.size(), found.extra.size())});
  }
  if (found.black_box) {
    list.push_back(
        {"queries", fmt::format("{}: {} random, {} beside kinks of the file, {} far out", found.queries,
                                found.random_queries, found.kink_queries, found.far_queries)});
    if (found.same()) {
      list.push_back(
          {"may be missed", fmt::format("a difference on less than {:.2g} of the domain, at a confidence "
                                        "of {:g}",
                                        found.unseen_share, found.confidence)});
    }
  }
  if (found.parameters) {
    const NetworkComparison& p = *found.parameters;
    list.push_back({"shapes", p.first_shape == p.second_shape
                                  ? p.first_shape
                                  : fmt::format("{}; {}", p.first_shape, p.second_shape)});
    if (p.comparable) {
      list.push_back({"worst parameter error", fmt::format("{:.3e}", p.worst_error)});
      list.push_back({"rms parameter error", fmt::format("{:.3e}", p.rms_error)});
    }
  }
  return list;
}

Document make_document(const CompareResult& found) {
  Json own = {{"comparison", to_string(found.verdict)}};
  own.update(body(found));
  return make_document(found.certificate, {.kind = "comparison",
                                           .verdict = verdict(found),
                                           .own = std::move(own),
                                           .sections = sections_of(found)});
}

std::vector<ResultFile> result_files(const CompareResult& found) {
  if (found.tree.empty()) return {};
  return {{"boxes of the proof", "boxes.txt", found.tree + "\n"}};
}

}  // namespace exhume
