#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "certify/certificate_writer.h"
#include "exhume/base/error.h"
#include "exhume/report/report.h"
#include "exhume/report/svg.h"
#include "report/report_page.h"
#include "report/sections.h"

namespace exhume {
namespace {

using svg::escape;

constexpr std::size_t kUnitsInSight = 12;  // the rest of the unit table folds away

std::vector<double> numbers(const Json& list) {
  std::vector<double> values;
  if (!list.is_array()) return values;
  for (const Json& value : list) values.push_back(number_of(value));
  return values;
}

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

std::string grouped(double value) { return svg::group_thousands(fmt::format("{:.0f}", value)); }

std::string seconds(double value) {
  if (!std::isfinite(value)) return "–";
  if (value < 0.0995) return fmt::format("{:.1f} ms", 1000 * value);
  if (value < 99.5) return fmt::format("{:.2f} s", value);
  return fmt::format("{:.0f} s", value);
}

std::string status_words(const std::string& status) {
  if (status == "certified") return "Certified";
  if (status == "estimated") return "Estimated";
  if (status == "uncertified") return "Not certified";
  return "Refused";
}

std::string brand(const std::string& kind) {
  if (kind == "lowest layer") return "the lowest layer of a network, whatever lies above it";
  if (kind == "halfspaces") return "a union or intersection of halfspaces from labels";
  if (kind == "deep network") return "a network of several hidden layers from its inputs and outputs";
  if (kind == "extracted network") return "a network extracted by questions";
  if (kind == "memorized network") return "a network that fits given labels";
  return "recovery of a two-layer ReLU network from its inputs and outputs";
}

std::string header(const Json& json) {
  const std::string status = words(at(json, "status"));
  std::string sentence = words(at(json, "verdict"));
  const std::string reason = words(at(json, "reason"));
  if (sentence.empty()) sentence = reason;
  std::string out = "<header>\n<p class=\"brand\">Exhume " + escape(words(at(json, "version"))) + " · " +
                    escape(brand(words(at(json, "kind")))) + "</p>\n";
  out += fmt::format("<span class=\"badge {}\">{}</span>\n<h1>{}</h1>\n", status, status_words(status),
                     escape(sentence));
  if (!reason.empty() && sentence.find(reason) == std::string::npos) {
    out += fmt::format("<p class=\"reason\">{}</p>\n", escape(reason));
  }
  return out + "</header>\n";
}

std::string facts(const Json& json) {
  std::string out = "<dl class=\"facts\">\n";
  const auto fact = [&](const char* name, const std::string& value) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
  };
  const auto count = [&](const char* key) {
    return at(json, key).is_number() ? grouped(number_of(at(json, key))) : "–";
  };
  if (!words(at(json, "route")).empty()) fact("Route", escape(words(at(json, "route"))));
  if (number_of(at(json, "hidden_units")) > 0) {
    fact("Inputs → hidden → outputs",
         count("inputs") + " → " + count("hidden_units") + " → " + count("outputs"));
  }
  fact("Samples (held out)", count("samples") + " (" + count("held_out") + ")");
  const bool refused = words(at(json, "status")) == "refused";
  if (!refused) fact("Held-out relative mse", pretty(number_of(at(json, "heldout_relative_mse"))));
  const double noise = number_of(at(json, "noise_sd"));
  if (!refused) fact("Noise, standard deviation", noise == 0 ? "none seen" : pretty(noise));
  const double error = number_of(at(json, "max_standard_error"));
  if (error > 0) fact("Largest standard error", pretty(error));
  const double bound = number_of(at(json, "functional_error_bound")),
               confidence = number_of(at(json, "confidence"));
  if (std::isfinite(bound) && bound > 0) {
    fact(std::isfinite(confidence) ? fmt::format("Bound on E|f − f̂|² at {:.4g}%", 100 * confidence).c_str()
                                   : "Bound on E|f − f̂|²",
         pretty(bound));
  }
  if (at(json, "signs_identifiable").is_boolean()) {
    fact("Signs of the units", at(json, "signs_identifiable").get<bool>() ? "determined" : "not determined");
  }
  return out + "</dl>\n";
}

std::string singular_values(const Json& pictures) {
  const std::vector<double> values = numbers(at(pictures, "singular_values"));
  if (values.empty()) return "";
  const double floor = number_of(at(pictures, "noise_floor")), units = number_of(at(pictures, "gap_units"));
  svg::Series above{.name = "units", .line = false, .points = true, .size = 4, .colour = 0};
  svg::Series below{.name = "sampling noise", .line = false, .points = true, .size = 4, .colour = 1};
  for (std::size_t i = 0; i < values.size(); ++i) {
    svg::Series& side = static_cast<double>(i) < units ? above : below;
    side.x.push_back(static_cast<double>(i + 1));
    side.y.push_back(values[i]);
  }
  svg::Chart chart{.title = "Singular values of the moment matrix on a logarithmic scale",
                   .x = {.label = "number of the singular value", .low = 0},
                   .y = {.label = "singular value", .log = true}};
  if (!above.x.empty()) chart.series.push_back(std::move(above));
  if (!below.x.empty()) chart.series.push_back(std::move(below));
  if (floor > 0) chart.rules.push_back({floor, "noise floor"});
  std::string text = "Their number above the noise floor is the number of hidden units.";
  const bool among = units >= 0 && units < static_cast<double>(values.size());
  const std::size_t k = among ? static_cast<std::size_t>(units) : 0;
  if (k >= 1 && k < values.size() && values[k] > 0) {
    chart.rules.push_back({static_cast<double>(k) + 0.5, fmt::format("gap after {}", k), true});
    text += fmt::format(" The smallest above the gap is {:.3g} times the next.", values[k - 1] / values[k]);
  }
  return section("Singular values and the gap", text, svg::draw(chart));
}

std::string descent(const Json& pictures) {
  const Json& steps = at(pictures, "descent");
  if (!steps.is_array() || steps.empty()) return "";
  svg::Chart chart{.title = "Relative mean squared residual at every step of the polish",
                   .x = {.label = "step", .low = 0},
                   .y = {.label = "relative mse", .log = true}};
  double number_of_step = 0;
  for (const Json& step : steps) {
    const std::string stage = words(at(step, "stage"));
    if (chart.series.empty() || chart.series.back().name != stage) {
      svg::Series next{.name = stage, .points = true};
      // A stage begins where the one before it ended, so that the line is not broken.
      if (!chart.series.empty()) {
        next.x.push_back(chart.series.back().x.back());
        next.y.push_back(chart.series.back().y.back());
      }
      chart.series.push_back(std::move(next));
    }
    chart.series.back().x.push_back(number_of_step++);
    chart.series.back().y.push_back(number_of(at(step, "relative_mse")));
  }
  // The same stage may come back; its name stands in the legend once, in one colour.
  std::vector<std::string> seen;
  for (svg::Series& series : chart.series) {
    const auto known = std::find(seen.begin(), seen.end(), series.name);
    series.colour = static_cast<int>(known - seen.begin());
    if (known == seen.end()) {
      seen.push_back(series.name);
    } else {
      series.name.clear();
    }
    if (series.x.size() > 80) series.points = false;
  }
  return section("Descent of the polish",
                 "Mean squared residual over the outputs’ variance. About 10⁻³⁰ is the last bit of a "
                 "double; a plateau above is noise or a wrong model.",
                 svg::draw(chart));
}

std::string held_out(const Json& json, const Json& pictures) {
  const Json& points = at(pictures, "heldout");
  svg::Series series{.line = false, .points = true, .size = 2.8, .opacity = 0.55};
  series.x = numbers(at(points, "observed"));
  series.y = numbers(at(points, "predicted"));
  if (series.x.empty() || series.x.size() != series.y.size()) return "";
  const std::string text = fmt::format(
      "{} values of rows that were never used for fitting; on the line they agree. Relative mse {}.",
      series.x.size(), pretty(number_of(at(json, "heldout_relative_mse"))));
  svg::Chart chart{.title = "Predicted against observed outputs on held-out rows",
                   .x = {.label = "observed"},
                   .y = {.label = "predicted"},
                   .series = {std::move(series)},
                   .diagonal = true,
                   .height = 380};
  return section("Predicted against observed", text, svg::draw(chart));
}

std::string residuals(const Json& json, const Json& pictures) {
  const Json& histogram = at(pictures, "residuals");
  const double low = number_of(at(histogram, "low")), width = number_of(at(histogram, "width"));
  const std::vector<double> counts = numbers(at(histogram, "counts"));
  if (counts.empty() || !(width > 0)) return "";
  const double bins = static_cast<double>(counts.size());
  double total = 0;
  svg::Series steps{.name = "held-out residuals"};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double left = low + static_cast<double>(i) * width;
    steps.x.insert(steps.x.end(), {left, left + width});
    steps.y.insert(steps.y.end(), {counts[i], counts[i]});
    total += counts[i];
  }
  svg::Chart chart{.title = "Histogram of the residuals on held-out rows",
                   .x = {.label = "observed − predicted"},
                   .y = {.label = "number of values", .low = 0},
                   .series = {std::move(steps)}};
  const double sd = number_of(at(json, "noise_sd"));
  std::string text = "Observed minus predicted on rows that were never used for fitting.";
  if (sd > 0) {
    svg::Series model{.name = "normal, of the estimated noise", .dashed = true};
    constexpr int kPoints = 121;
    for (int p = 0; p < kPoints; ++p) {
      const double x = low + bins * width * p / (kPoints - 1);
      model.x.push_back(x);
      model.y.push_back(total * width / (sd * std::sqrt(2 * M_PI)) * std::exp(-0.5 * x * x / (sd * sd)));
    }
    chart.series.push_back(std::move(model));
    text += " The outermost bins also count what lies beyond.";
  } else {
    text += " No noise is seen: what is left is rounding, or structure.";
  }
  return section("Residuals", text, svg::draw(chart));
}

std::string timings(const Json& json) {
  const Json& stages = at(json, "timings");
  if (!stages.is_object() || stages.empty()) return "";
  svg::Bars bars{.title = "Seconds by stage"};
  double total = 0;
  for (const auto& [stage, value] : stages.items()) {
    bars.names.push_back(stage);
    bars.values.push_back(number_of(value));
    bars.texts.push_back(seconds(number_of(value)));
    if (std::isfinite(number_of(value))) total += number_of(value);
  }
  return section("Time", fmt::format("{} altogether.", seconds(total)), svg::draw(bars));
}

std::string weights(const Json& json, const Json& pictures) {
  std::string out;
  const auto map = [&](const char* key, const char* heading, const char* what, const char* rows,
                       const char* columns, const char* row_label, const char* column_label) {
    svg::HeatMap heat{.title = heading, .row_label = row_label, .column_label = column_label};
    heat.values = matrix(at(pictures, key));
    if (heat.values.size() == 0) return;
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
  map("weights", "First-layer weights W", "One row a hidden unit, of unit length.", "hidden_units", "inputs",
      "hidden unit", "input");
  map("output_weights", "Output weights A", "One column a hidden unit, in the same order.", "outputs",
      "hidden_units", "output", "hidden unit");
  return out;
}

std::string unit_table(const Json& json, const Json& pictures) {
  const Json& units = at(pictures, "units");
  if (!units.is_array() || units.empty()) return "";
  const bool errors = at(units[0], "max_standard_error").is_number();
  const bool active = at(units[0], "active").is_number();
  const std::string head = fmt::format(
      "<tr><th class=\"number\">Unit</th><th class=\"number\">Bias</th><th class=\"number\">Output norm</th>"
      "<th class=\"number\">Largest weight</th><th class=\"number\">at input</th>{}{}</tr>\n",
      active ? "<th class=\"number\">Active</th>" : "",
      errors ? "<th class=\"number\">Largest standard error</th>" : "");
  const auto rows = [&](std::size_t from, std::size_t to) {
    std::string out = "<div class=\"scroll\"><table>\n" + head;
    for (std::size_t i = from; i < to; ++i) {
      out += fmt::format("<tr><td class=\"number\">{}</td>", i + 1);
      for (const char* key : {"bias", "output_norm", "largest_weight", "largest_weight_input", "active",
                              "max_standard_error"}) {
        if (!errors && std::string_view(key) == "max_standard_error") continue;
        if (std::string_view(key) == "active") {
          if (active)
            out += fmt::format("<td class=\"number\">{:.1f}%</td>", 100 * number_of(at(units[i], key)));
          continue;
        }
        out += fmt::format(
            "<td class=\"number\">{}</td>",
            pretty(number_of(at(units[i], key)), std::string_view(key) != "largest_weight_input"));
      }
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
  std::string text = "By decreasing norm of their output weights.";
  if (active) text += " Active: share of rows on which the unit is not zero.";
  if (all > static_cast<double>(units.size()))
    text += fmt::format(" The first {} of {}.", units.size(), grouped(all));
  return section("Units", text, content, "wide long");
}

std::string assumptions(const Json& json) {
  const Json& list = at(json, "assumptions");
  if (!list.is_array() || list.empty()) return "";
  std::string table =
      "<div class=\"scroll\"><table>\n<tr><th>Assumption</th><th class=\"number\">Value</th>"
      "<th class=\"number\">Threshold</th><th>Holds</th></tr>\n";
  for (const Json& a : list) {
    const Json& holds = at(a, "holds");
    const bool yes = holds.is_boolean() && holds.get<bool>();
    const bool required = at(a, "required").is_boolean() && at(a, "required").get<bool>();
    table += fmt::format(
        "<tr{}><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"mark "
        "{}\">{}</td></tr>\n",
        required ? " class=\"required\"" : "", escape(words(at(a, "name"))),
        pretty(number_of(at(a, "value"))), pretty(number_of(at(a, "threshold"))), yes ? "yes" : "no",
        yes ? "✓ yes" : "✗ no");
  }
  return section("Assumptions",
                 "What was looked at, and whether the data bear it out. A certificate needs those in bold.",
                 table + "</table></div>\n", "wide");
}

// What follows, and from what.
std::string conclusion(const Json& json) {
  const std::string sentence = words(at(json, "conclusion"));
  if (sentence.empty()) return "";
  std::string content = "<p class=\"conclusion\">" + escape(sentence) + ".</p>\n";
  const Json& assumed = at(json, "assumed");
  if (assumed.is_array() && !assumed.empty()) {
    content += "<p>No sample can show, and the conclusion assumes, that</p>\n<ul>\n";
    for (const Json& item : assumed) content += "<li>" + escape(words(item)) + "</li>\n";
    content += "</ul>\n";
  }
  return section("What this means", "", content, "wide");
}

std::string tried(const Json& json) {
  const Json& list = at(json, "tried");
  if (!list.is_array() || list.empty()) return "";
  std::string table = "<div class=\"scroll\"><table>\n<tr><th>Route</th><th>Outcome</th></tr>\n";
  for (const Json& a : list) {
    table += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escape(words(at(a, "route"))),
                         escape(words(at(a, "outcome"))));
  }
  return section("What was tried", "", table + "</table></div>\n");
}

std::string reproduce(const Json& json) {
  std::string content;
  if (!words(at(json, "command")).empty())
    content += "<pre>" + escape(words(at(json, "command"))) + "</pre>\n";
  content += "<div class=\"scroll\"><table>\n";
  for (const char* list : {"files", "written"}) {
    if (!at(json, list).is_array()) continue;
    for (const Json& file : at(json, list)) {
      const std::string hash = words(at(file, "sha256"));
      content += fmt::format("<tr><td>{}</td><td>{}{}</td></tr>\n", escape(words(at(file, "role"))),
                             escape(words(at(file, "path"))),
                             hash.empty() ? "" : "<br><code>SHA-256 " + escape(hash) + "</code>");
    }
  }
  const Json& seed = at(json, "seed");
  if (seed.is_number()) content += fmt::format("<tr><td>seed</td><td>{}</td></tr>\n", seed.dump());
  for (const char* key : {"host", "date"}) {
    if (const std::string text = words(at(json, key)); !text.empty())
      content += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", key, escape(text));
  }
  content += fmt::format("<tr><td>version</td><td>{}</td></tr>\n</table></div>\n",
                         escape(words(at(json, "version"))));
  return section("How to reproduce",
                 "The same files, seed and version give the same network to the last bit.", content, "wide");
}

}  // namespace

std::string to_html(const std::string& json_text) {
  const Json json = parse_certificate(json_text);
  const std::string status = words(at(json, "status"));
  if (status != "certified" && status != "estimated" && status != "uncertified" && status != "refused") {
    throw DataError(
        "the certificate has no status (certified, estimated, uncertified or refused); is it a "
        "certificate.json?");
  }
  const Json& pictures = at(json, "pictures");
  const bool network = words(at(json, "kind")) == "network" || words(at(json, "kind")).empty();
  std::string body = header(json);
  if (network) body += facts(json);
  body += conclusion(json);
  if (at(json, "sections").is_array()) {
    for (const Json& section : at(json, "sections")) body += draw_section(section);
  }
  body +=
      singular_values(pictures) + descent(pictures) + held_out(json, pictures) + residuals(json, pictures);
  body += weights(json, pictures) + timings(json) + tried(json);
  body += unit_table(json, pictures) + assumptions(json) + reproduce(json);
  body += "<footer>Made by Exhume from certificate.json alone.</footer>\n";
  return page("Exhume: " + status_words(status), body);
}

}  // namespace exhume
