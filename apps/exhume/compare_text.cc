#include "compare_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/compare_report.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

constexpr std::size_t kUnits = 8;
constexpr Index kEntries = 12;

std::string entries(const Vector& x) {
  std::string text;
  for (Index i = 0; i < std::min(x.size(), kEntries); ++i)
    text += fmt::format("{}{:.6g}", i == 0 ? "" : ", ", x(i));
  if (x.size() > kEntries) text += fmt::format(", and {} more", x.size() - kEntries);
  return "(" + text + ")";
}

std::string place(const ComparedUnit& unit, bool second) {
  const Index row = second ? unit.second_row : unit.first_row;
  return row < 0 ? std::string("a unit") : fmt::format("layer {}, row {}", unit.layer + 1, row + 1);
}

std::string units(const std::vector<ComparedUnit>& list, const char* name, bool second) {
  std::string out;
  for (std::size_t i = 0; i < std::min(list.size(), kUnits); ++i) {
    const ComparedUnit& u = list[i];
    out += fmt::format("  {}  {}", toned(Tone::kBold, name), place(u, second));
    if (u.first_row >= 0 && u.second_row >= 0 && u.second_row != u.first_row)
      out += fmt::format(" (row {} of the second)", u.second_row + 1);
    if (!u.weight.empty()) out += ": " + u.weight;
    if (u.change > 0) {
      const auto [p, q] = told_apart(u.first_weight, u.second_weight);
      out += fmt::format(" is {} and {}", p, q);
    }
    if (u.weights.size() > 0 && (u.first_row >= 0 || u.second_row >= 0)) {
      out += !u.acts        ? ": no input of the domain was found that activates it"
             : u.share == 0 ? ": active at none of the random inputs"
                            : fmt::format(": active at {:.2g}% of random inputs", 100 * u.share);
    }
    if (u.acts && u.input.size() > 0) out += fmt::format("; activated by {}", entries(u.input));
    out += "\n";
  }
  if (list.size() > kUnits) out += fmt::format("  and {} more {}\n", list.size() - kUnits, name);
  return out;
}

// One line per layer: its units and its worst error.
std::string layers_text(const std::vector<LayerDifference>& layers) {
  if (layers.empty()) return "";
  std::string out = fmt::format(
      "\n{}\n", toned(Tone::kSoft, fmt::format("{:>8}  {:>6}  {:>11}", "layer", "units", "worst error")));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    out += fmt::format("{:>8}  {:>6}  {:>11.2e}\n",
                       l + 1 == layers.size() ? "outputs" : fmt::format("{}", l + 1), layers[l].units,
                       layers[l].worst_error);
  }
  return out;
}

}  // namespace

std::string compare_text(const CompareResult& found) {
  const Tone tone = found.same()                                  ? Tone::kGood
                    : found.verdict == CompareVerdict::kDifferent ? Tone::kBad
                                                                  : Tone::kWarn;
  std::string out = fmt::format("{}\n", toned(tone, printable(verdict(found))));
  std::size_t width = 0;
  const std::vector<Fact> list = facts(found);
  for (const Fact& fact : list) width = std::max(width, fact.name.size());
  for (const Fact& fact : list) out += fmt::format("{:<{}}  {}\n", fact.name, width, printable(fact.value));
  if (!found.same() && found.worst_input.size() > 0) {
    out += fmt::format("worst input   {}: {} and {}\n", entries(found.worst_input),
                       entries(found.first_outputs), entries(found.second_outputs));
    if (found.simple_input.size() > 0 && found.simple_input != found.worst_input) {
      out += fmt::format("simpler       {}: {:.3g} apart ({})\n", entries(found.simple_input),
                         found.simple_difference, found.simple_words);
    }
  }
  out += units(found.extra, "extra", true) + units(found.missing, "missing", false) +
         units(found.changed, "changed", false);
  for (const std::string& remark : found.remarks) out += fmt::format("{}\n", printable(remark));
  if (found.parameters && found.parameters->deep && found.parameters->comparable)
    out += layers_text(found.parameters->layers);
  return out;
}

std::string written_text(const std::string& folder, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return fmt::format("written to {}: {}\n", printable(folder), list);
}

}  // namespace exhume::cli
