#include "report/page_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/report_page.h"
#include "report/rounded.h"
#include "report/svg.h"
#include "report/weight_charts.h"

namespace exhume {
namespace {

using svg::escape;

constexpr std::size_t kUnitsInSight = 12;  // the rest of the unit table folds away
constexpr double kMostCells = 1e6;         // of one image, whatever a certificate says

Matrix matrix(const Json& rows) {
  if (!rows.is_array() || rows.empty() || !rows[0].is_array()) return {};
  Matrix values = Matrix::Zero(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
  for (Index i = 0; i < values.rows(); ++i) {
    const std::vector<double> row = numbers(rows[static_cast<std::size_t>(i)]);
    for (Index j = 0; j < std::min(values.cols(), static_cast<Index>(row.size())); ++j) {
      values(i, j) = row[static_cast<std::size_t>(j)];
    }
  }
  return values;
}

std::vector<std::string> names(const Json& json, const char* key) {
  std::vector<std::string> list;
  if (at(json, key).is_array()) {
    for (const Json& name : at(json, key)) list.push_back(words(name));
  }
  return list;
}

// "age", or "input 3" where there is no name.
std::string named(const std::vector<std::string>& names, const char* what, double number) {
  const bool known = number >= 0 && number < static_cast<double>(names.size());
  return known ? names[static_cast<std::size_t>(number)] : fmt::format("{} {:.0f}", what, number + 1);
}

// One parameter in words: "unit 3, age".
std::string parameter(const Json& json, const std::string& part, double i, double j) {
  const std::vector<std::string> inputs = names(json, "input_names"), outputs = names(json, "output_names");
  if (part == "W") return fmt::format("unit {:.0f}, {}", i + 1, named(inputs, "input", j));
  if (part == "b") return fmt::format("unit {:.0f}, bias", i + 1);
  if (part == "A") return fmt::format("unit {:.0f} in {}", j + 1, named(outputs, "output", i));
  if (part == "c") return fmt::format("constant of {}", named(outputs, "output", i));
  return fmt::format("{} in {}", named(inputs, "input", j), named(outputs, "output", i));
}

// The weights of these parts with their intervals.
std::string forest(const Json& json, const char* heading, std::string_view parts) {
  const Json& intervals = at(at(json, "pictures"), "intervals");
  const double reach = number_of(at(intervals, "standard_errors"));
  svg::Forest chart{.title = heading, .label = "weight"};
  double all = 0;
  for (const char part : parts) {
    const std::string name(1, part);
    if (const double count = number_of(at(at(intervals, "counts"), name.c_str())); count > 0) all += count;
  }
  if (!at(intervals, "weights").is_array() || !(reach > 0)) return "";
  for (const Json& weight : at(intervals, "weights")) {
    if (!weight.is_array() || weight.size() != 5) continue;
    const std::string part = words(weight[0]);
    if (part.size() != 1 || parts.find(part) == std::string_view::npos) continue;
    chart.names.push_back(parameter(json, part, number_of(weight[1]), number_of(weight[2])));
    chart.values.push_back(number_of(weight[3]));
    chart.reaches.push_back(reach * number_of(weight[4]));
    // Rows of W have norm 1.
    chart.limits.push_back(part == "W" ? 1 : std::numeric_limits<double>::infinity());
  }
  if (chart.names.empty()) return "";
  const double shown = static_cast<double>(chart.names.size());
  const std::string which = all > shown
                                ? fmt::format("the {} least certain of {}", grouped(shown), grouped(all))
                                : fmt::format("all {}", grouped(shown));
  return fmt::format("<div><h3>{}: {}</h3>\n{}</div>\n", heading, which, svg::draw(chart));
}

}  // namespace

std::string truth_section(const Json& json) {
  const Json& truth = at(json, "truth");
  if (!truth.is_object()) return "";
  const std::string file = "<code>" + escape(words(at(truth, "path"))) + "</code>";
  if (!is_true(at(truth, "comparable"))) {
    return section("True against recovered",
                   fmt::format("The network in {} cannot be compared with this one: {}.", file,
                               typeset(words(at(truth, "why")))),
                   "", "wide");
  }
  const Json& points = at(at(json, "pictures"), "truth");
  svg::Series series{.line = false, .points = true, .size = 3.2, .opacity = 0.6};
  series.x = numbers(at(points, "true"));
  series.y = numbers(at(points, "recovered"));
  if (series.x.size() != series.y.size()) return "";
  const double all = number_of(at(truth, "parameters")), shown = static_cast<double>(series.x.size());
  std::string text = fmt::format(
      "{}{} parameters of {}, matched unit by unit, both in canonical form; on the line they agree. Worst "
      "difference {}, root mean square {}.",
      grouped(shown), all > shown ? " of the " + grouped(all) : "", file,
      pretty(number_of(at(truth, "worst_error"))), pretty(number_of(at(truth, "rms_error"))));
  const svg::Chart chart{.title = "Recovered against true parameters",
                         .x = {.label = "true"},
                         .y = {.label = "recovered"},
                         .series = {std::move(series)},
                         .diagonal = true,
                         .height = 380};
  return section("True against recovered", text, svg::draw(chart));
}

std::string images_section(const Json& json) {
  const Json& pictures = at(json, "pictures");
  const Json& images = at(pictures, "images");
  const double rows = number_of(at(images, "rows")), columns = number_of(at(images, "columns"));
  if (!at(images, "units").is_array() || !(rows >= 1) || !(columns >= 1) || !(rows * columns <= kMostCells))
    return "";
  svg::Images chart{.title = "First-layer weights of units as images"};
  for (const Json& unit : at(images, "units")) {
    const std::vector<double> values = numbers(unit);
    Matrix image = Matrix::Zero(static_cast<Index>(rows), static_cast<Index>(columns));
    if (static_cast<Index>(values.size()) != image.size()) return "";
    for (Index i = 0; i < image.size(); ++i)
      image(i / image.cols(), i % image.cols()) = values[static_cast<std::size_t>(i)];
    chart.images.push_back(std::move(image));
    chart.captions.push_back(fmt::format("unit {}", chart.images.size()));
  }
  if (chart.images.empty()) return "";
  const double all = number_of(at(json, "hidden_units")), shown = static_cast<double>(chart.images.size());
  const std::string text = fmt::format(
      "Rows of W as {:.0f} × {:.0f} images, row by row, each on its own scale: orange positive, blue "
      "negative.{}",
      rows, columns,
      all > shown ? fmt::format(" The first {} of {} units.", grouped(shown), grouped(all)) : "");
  return section("Units as images", text, "<div class=\"scroll broad\">" + svg::draw(chart) + "</div>\n",
                 "wide");
}

std::string heat_sections(const Json& json) {
  std::string out;
  const auto map = [&](const char* key, const char* heading, const char* what, const char* rows,
                       const char* columns, const char* row_label, const char* column_label,
                       const char* column_names) {
    svg::HeatMap heat{.title = heading, .row_label = row_label, .column_label = column_label};
    heat.values = matrix(at(at(json, "pictures"), key));
    if (heat.values.size() == 0) return;
    if (column_names != nullptr) heat.column_names = names(json, column_names);
    const auto count = [&](const char* name, Index shown) {
      const double value = number_of(at(json, name));
      return value >= static_cast<double>(shown) && value < 1e15 ? static_cast<Index>(value) : shown;
    };
    heat.rows = count(rows, heat.values.rows());
    heat.columns = count(columns, heat.values.cols());
    const bool thinned = heat.rows > heat.values.rows() || heat.columns > heat.values.cols();
    const char* note = thinned ? " Neighbours share a cell, which shows the largest of them." : "";
    out += section(heading, fmt::format("{}{}", what, note), svg::draw(heat));
  };
  map("weights", "First-layer weights W", "One row per hidden unit, of unit length.", "hidden_units",
      "inputs", "hidden unit", "input", "input_names");
  map("output_weights", "Output weights A", "One column per hidden unit, in the same order.", "outputs",
      "hidden_units", "output", "hidden unit", nullptr);
  return out;
}

std::string interval_sections(const Json& json) {
  const std::string charts = forest(json, "First-layer weights", "W") + forest(json, "Biases", "b") +
                             forest(json, "Output weights", "AL") + forest(json, "Constants", "c");
  if (charts.empty()) return "";
  const double reach = number_of(at(at(at(json, "pictures"), "intervals"), "standard_errors"));
  return section(
      "Weights with intervals",
      fmt::format("{:.4g} standard errors to either side; dashed where that reaches over zero.", reach),
      "<div class=\"lines\">\n" + charts + "</div>\n", "wide");
}

std::string units_section(const Json& json) {
  const Json& units = at(at(json, "pictures"), "units");
  if (!units.is_array() || units.empty()) return "";
  const bool errors = at(units[0], "max_standard_error").is_number();
  const bool active = at(units[0], "active").is_number();
  const std::vector<std::string> inputs = names(json, "input_names");
  const std::string head = fmt::format(
      "<tr><th class=\"number\">Unit</th><th class=\"number\">Bias</th><th class=\"number\">Output norm</th>"
      "<th class=\"number\">Largest weight</th><th class=\"number\">At input</th>{}{}</tr>\n",
      active ? "<th class=\"number\">Active</th>" : "",
      errors ? "<th class=\"number\">Largest standard error</th>" : "");
  const auto cell = [](const std::string& value) {
    return fmt::format("<td class=\"number\">{}</td>", value);
  };
  const auto rows = [&](std::size_t from, std::size_t to) {
    std::string out = "<div class=\"scroll\"><table>\n" + head;
    for (std::size_t i = from; i < to; ++i) {
      const auto value = [&](const char* key) { return number_of(at(units[i], key)); };
      out += "<tr>" + cell(fmt::format("{}", i + 1));
      for (const char* key : {"bias", "output_norm", "largest_weight"}) out += cell(pretty(value(key), true));
      const double input = value("largest_weight_input");
      out += cell(input >= 1 && input <= static_cast<double>(inputs.size())
                      ? escape(inputs[static_cast<std::size_t>(input) - 1])
                      : pretty(input));
      if (active) out += cell(fmt::format("{:.1f}%", 100 * value("active")));
      if (errors) out += cell(pretty(value("max_standard_error"), true));
      out += "</tr>\n";
    }
    return out + "</table></div>\n";
  };
  const std::size_t shown = std::min(kUnitsInSight, units.size());
  std::string content = rows(0, shown);
  if (units.size() > shown) {
    content += fmt::format("<details><summary>Units {} to {}</summary>\n{}</details>\n", shown + 1,
                           units.size(), rows(shown, units.size()));
  }
  const double all = number_of(at(json, "hidden_units"));
  std::string text = "Sorted by decreasing norm of their output weights.";
  if (active) text += " Active: share of rows on which the unit is not zero.";
  if (all > static_cast<double>(units.size()))
    text += fmt::format(" The first {} of {}.", units.size(), grouped(all));
  return section("Units", text, content, "wide long");
}

std::string profiles_section(const Json& json) {
  const Json& list = at(at(json, "pictures"), "profiles");
  if (!list.is_array() || list.empty()) return "";
  const std::vector<std::string> outputs = names(json, "output_names");
  const bool one_output = number_of(at(json, "outputs")) == 1;
  std::string charts;
  for (const Json& each : list) {
    const double unit = number_of(at(each, "unit")), output = number_of(at(each, "output"));
    const std::vector<double> places = numbers(at(each, "at"));
    if (places.empty() || !(unit >= 1) || !(output >= 1)) continue;
    const std::string name = named(outputs, "output", output - 1);
    svg::Series mean{.x = places, .y = numbers(at(each, "mean")), .line = false, .points = true, .size = 3.2};
    svg::Series own{.x = places, .y = numbers(at(each, "own"))};
    if (mean.y.size() != places.size() || own.y.size() != places.size()) continue;
    mean.colour = 0;
    own.colour = 1;
    const svg::Chart chart{.title = fmt::format("Mean of {} along unit {:.0f}", name, unit),
                           .x = {.label = "w·x + b"},
                           .y = {},
                           .series = {std::move(own), std::move(mean)},
                           .width = 300,
                           .height = 190};
    charts += fmt::format("<div><h3>Unit {:.0f}{}</h3>\n{}</div>\n", unit,
                          one_output ? std::string() : ", " + escape(name), svg::draw(chart));
  }
  if (charts.empty()) return "";
  const double all = number_of(at(json, "hidden_units"));
  const auto shown = static_cast<double>(list.size());
  std::string text =
      "Points: means over rows of an output, less what the other units contribute to it. Line: the unit "
      "itself. Where points leave the line, the data and the network differ.";
  if (words(at(json, "activation")) == "relu") text += " A true unit bends at 0.";
  if (all > shown) text += fmt::format(" The first {} of {} units.", grouped(shown), grouped(all));
  return section("Along each unit", text, "<div class=\"plots\">\n" + charts + "</div>\n", "wide");
}

}  // namespace exhume
