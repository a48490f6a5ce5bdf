#include "report/page_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/report_page.h"
#include "report/rounded.h"
#include "report/svg.h"

namespace exhume {
namespace {

// A polish that begins below it began with the network itself.
constexpr double kRounding = 1e-24;
// Factor by which an error has to grow to be seen growing.
constexpr double kRises = 1.02;

std::string seconds(double value) {
  if (!std::isfinite(value)) return "–";
  if (value < 0.0995) return fmt::format("{:.1f} ms", 1000 * value);
  if (value < 99.5) return fmt::format("{:.2f} s", value);
  return fmt::format("{:.0f} s", value);
}

std::string singular_values_text(const Json& json, const std::vector<double>& values, double units) {
  const double all = number_of(at(at(json, "pictures"), "singular_value_count"));
  const double hidden = number_of(at(json, "hidden_units"));
  std::string text =
      all > static_cast<double>(values.size())
          ? fmt::format("The largest {} of {}: ", grouped(static_cast<double>(values.size())), grouped(all))
          : std::string();
  if (!(units >= 0)) return text + "Those above the noise floor show hidden units.";
  text += fmt::format("{} above the noise floor", grouped(units));
  if (hidden == units) {
    text += ", as many as there are hidden units.";
  } else if (hidden > units) {
    text += fmt::format("; the other {} of {} hidden units were found in the residual.",
                        grouped(hidden - units), grouped(hidden));
  } else {
    text += ".";
  }
  const bool among = units >= 1 && units < static_cast<double>(values.size());
  const std::size_t k = among ? static_cast<std::size_t>(units) : 0;
  if (k >= 1 && values[k] > 0) {
    text +=
        fmt::format(" The smallest above the gap is {} times the next.", pretty(values[k - 1] / values[k]));
  }
  return text;
}

// What the verdict rests on: rows of a file, or queries of an extraction.
const char* unseen(const Json& json) {
  return at(json, "fresh_queries").is_number() ? "fresh queries" : "rows";
}

}  // namespace

std::string singular_values_section(const Json& json) {
  const Json& pictures = at(json, "pictures");
  const std::vector<double> values = numbers(at(pictures, "singular_values"));
  if (values.size() < 2) return "";  // nothing to see a gap in
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
  if (units >= 1 && units < static_cast<double>(values.size()))
    chart.rules.push_back({units + 0.5, "gap after " + grouped(units), true});
  return section("Singular values and the gap", singular_values_text(json, values, units), svg::draw(chart));
}

std::string descent_section(const Json& json) {
  const Json& steps = at(at(json, "pictures"), "descent");
  if (!steps.is_array() || steps.empty()) return "";
  const double first = number_of(at(steps.front(), "relative_mse")),
               last = number_of(at(steps.back(), "relative_mse"));
  if (first >= 0 && first <= kRounding && last <= kRounding) {
    return section(
        "Descent of the polish",
        fmt::format("The start was already the network, to {} of the outputs’ variance; the polish "
                    "ended at {}.",
                    pretty(first), pretty(last)),
        "", "wide");
  }
  svg::Chart chart{.title = "Relative mean squared residual at every step of the polish",
                   .x = {.label = "step", .low = 0},
                   .y = {.label = "relative mse", .log = true}};
  bool rises = false;
  double before = std::nan("");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string stage = words(at(steps[i], "stage"));
    const double number_of_step = number_of(at(steps[i], "iteration"));
    const double x = std::isfinite(number_of_step) ? number_of_step : static_cast<double>(i);
    const double y = number_of(at(steps[i], "relative_mse"));
    if (chart.series.empty() || chart.series.back().name != stage) {
      svg::Series next{.name = stage, .points = true};
      // A stage begins where the one before it ended, so that the line is not broken.
      if (!chart.series.empty()) {
        next.x.push_back(chart.series.back().x.back());
        next.y.push_back(chart.series.back().y.back());
      }
      chart.series.push_back(std::move(next));
    }
    chart.series.back().x.push_back(x);
    chart.series.back().y.push_back(y);
    rises = rises || (y > kRises * before && y > kRounding);
    before = y;
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
  std::string text =
      "Mean squared residual over the outputs’ variance. About 10⁻³⁰ is the last bit of a double; a plateau "
      "above is noise or a wrong model.";
  if (rises) text += " It rises when rows are added or a unit is removed.";
  const double all = number_of(at(steps.back(), "iteration")) + 1;
  if (all > static_cast<double>(steps.size())) {
    text +=
        fmt::format(" {} of {} steps are shown.", grouped(static_cast<double>(steps.size())), grouped(all));
  }
  return section("Descent of the polish", text, svg::draw(chart));
}

std::string held_out_section(const Json& json) {
  const Json& points = at(at(json, "pictures"), "heldout");
  svg::Series series{.line = false, .points = true, .size = 2.8, .opacity = 0.55};
  series.x = numbers(at(points, "observed"));
  series.y = numbers(at(points, "predicted"));
  if (series.x.empty() || series.x.size() != series.y.size()) return "";
  const double shown = static_cast<double>(series.x.size()),
               all = number_of(at(json, "held_out")) * number_of(at(json, "outputs"));
  const std::string text = fmt::format(
      "{}{} values of {} that were never used for fitting; on the line they agree. Relative mse {}.",
      grouped(shown), all > shown ? " of " + grouped(all) : "", unseen(json),
      pretty(number_of(at(json, "heldout_relative_mse"))));
  const svg::Chart chart{.title = "Predicted against observed outputs on held-out rows",
                         .x = {.label = "observed"},
                         .y = {.label = "predicted"},
                         .series = {std::move(series)},
                         .diagonal = true,
                         .height = 380};
  return section("Predicted against observed", text, svg::draw(chart));
}

std::string residuals_section(const Json& json) {
  const Json& histogram = at(at(json, "pictures"), "residuals");
  const double low = number_of(at(histogram, "low")), width = number_of(at(histogram, "width"));
  const std::vector<double> counts = numbers(at(histogram, "counts"));
  if (counts.empty() || !(width > 0)) return "";
  const double bins = static_cast<double>(counts.size());
  double total = 0;
  svg::Series steps{.name = "residuals"};
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
  std::string text =
      fmt::format("Observed minus predicted, {} values of {} that were never used for fitting.",
                  grouped(total), unseen(json));
  if (sd > 0) {
    svg::Series model{.name = "normal, of the same standard deviation", .dashed = true};
    constexpr int kPoints = 121;
    for (int p = 0; p < kPoints; ++p) {
      const double x = low + bins * width * p / (kPoints - 1);
      model.x.push_back(x);
      model.y.push_back(total * width / (sd * std::sqrt(2 * M_PI)) * std::exp(-0.5 * x * x / (sd * sd)));
    }
    chart.series.push_back(std::move(model));
    text += " The outermost bins also count what lies beyond them.";
  } else {
    text += " No noise is seen: these are rounding errors, or structure.";
  }
  return section("Residuals", text, svg::draw(chart));
}

std::string timings_section(const Json& json) {
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

}  // namespace exhume
