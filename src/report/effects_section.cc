#include "report/effects_section.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "report/sections.h"

namespace exhume {
namespace {

constexpr std::size_t kMostLines = 120;  // of a table on a page

std::string name_of(const std::vector<std::string>& names, const char* what, Index number) {
  const auto place = static_cast<std::size_t>(number);
  return number >= 0 && place < names.size() ? names[place] : fmt::format("{} {}", what, number + 1);
}

std::string with_interval(const Effect& e) {
  if (std::isinf(e.lower) || std::isinf(e.upper)) return "anywhere";
  return fmt::format("{:.3g} [{:.3g}, {:.3g}]", e.value, e.lower, e.upper);
}

}  // namespace

Json interval_words(const Errors& errors) {
  return {{"confidence", 0.95},
          {"standard_errors", number(errors.reach)},
          {"degrees_of_freedom", number(errors.degrees_of_freedom)},
          {"coverage", number(errors.coverage)},
          {"withheld", errors.no_intervals}};
}

Json effects_json(const Errors& errors) {
  Json list = Json::array();
  for (const Effect& e : errors.effects) {
    list.push_back({e.kind, e.unit, e.input, e.output, number(e.value), number(e.error), number(e.lower),
                    number(e.upper)});
  }
  return list;
}

Json effects_section(const Result& result) {
  const Certificate& certificate = result.certificate;
  // By unit, output and input; those without a unit come last.
  std::map<std::tuple<Index, Index, Index>, std::map<std::string, Effect>> lines;
  std::map<std::pair<Index, Index>, Effect> hinges;
  for (const Effect& e : result.errors.effects) {
    if (e.kind == "hinge") hinges.emplace(std::pair(e.unit, e.input), e);
    if (e.kind == "size" || e.kind == "offset" || e.kind == "hinge") continue;
    lines[{e.unit < 0 ? result.network.hidden() : e.unit, e.output, e.input}].emplace(e.kind, e);
  }
  if (lines.empty() || lines.size() > kMostLines) return nullptr;
  const bool several = result.network.outputs() > 1;
  Json rows = Json::array();
  for (const auto& line : lines) {
    const auto& [unit, output, input] = line.first;
    const auto& kinds = line.second;
    const bool of_unit = unit < result.network.hidden();
    const auto cell = [&](const char* kind) {
      const auto found = kinds.find(kind);
      return found == kinds.end() ? std::string() : with_interval(found->second);
    };
    const auto hinge = hinges.find({unit, input});
    const Effect& tested = of_unit ? kinds.at("bend") : kinds.begin()->second;
    Json row = {of_unit ? fmt::format("{}", unit + 1) : "linear"};
    if (several) row.push_back(name_of(certificate.output_names, "output", output));
    for (const std::string& text :
         {input < 0 ? std::string("constant") : name_of(certificate.input_names, "input", input),
          hinge == hinges.end() ? std::string() : with_interval(hinge->second),
          of_unit ? cell("before") : cell(input < 0 ? "constant" : "slope"), cell("after"), cell("bend"),
          tested.error > 0 ? fmt::format("{:.2f}", tested.value / tested.error) : std::string("-")})
      row.push_back(text);
    rows.push_back(std::move(row));
  }
  std::vector<std::string> columns = {"Unit",        "Along", "Hinge",  "Slope before",
                                      "Slope after", "Bend",  "t value"};
  if (several) columns.insert(columns.begin() + 1, "Output");
  return table_section("Slopes and hinges",
                       "In the units of the data, with 95% intervals. The hinge is the value of the input at "
                       "which the unit switches, the other inputs at their means. Before it the unit is off, "
                       "after it on; the bend is the change of the slope.",
                       std::move(columns), std::move(rows));
}

}  // namespace exhume
