// exhume compare: how far apart two networks are, up to the symmetries that do not change their function.
#include "exhume/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "command.h"
#include "session/documents.h"

namespace exhume::cli {
namespace {

constexpr std::size_t kUnitsShown = 8;

std::string units_text(const std::vector<UnitDifference>& units) {
  if (units.empty()) return "";
  const std::size_t shown = std::min(units.size(), kUnitsShown);
  std::string out = toned(Tone::kSoft, fmt::format("\n{:>6}  {:>6}  {:>10}  {:>10}  {:>10}", "unit", "match",
                                                   "weights", "bias", "outputs"));
  out += "\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const UnitDifference& u = units[i];
    out += fmt::format("{:>6}  {:>6}  {:>10.2e}  {:>10.2e}  {:>10.2e}{}\n", u.first + 1, u.second + 1,
                       u.weights, u.bias, u.outputs, u.turned ? "  turned" : "");
  }
  if (units.size() > shown)
    out += toned(Tone::kSoft, fmt::format("the other {} differ no more", units.size() - shown)) + "\n";
  return out;
}

// One line per layer: its units and its worst error.
std::string layers_text(const std::vector<LayerDifference>& layers) {
  std::string out = fmt::format(
      "\n{}\n", toned(Tone::kSoft, fmt::format("{:>8}  {:>6}  {:>11}", "layer", "units", "worst error")));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    out += fmt::format("{:>8}  {:>6}  {:>11.2e}\n",
                       l + 1 == layers.size() ? "outputs" : fmt::format("{}", l + 1), layers[l].units,
                       layers[l].worst_error);
  }
  return out;
}

class Compare final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("compare", "Say how far apart two networks are, after aligning their units");
    add_file(*app, "A", first_, "A network (.safetensors, .npz, .onnx)")->required();
    add_file(*app, "B", second_, "Another one")->required();
    app->add_flag("--free-signs", options_.free_signs,
                  "Let units be turned around, at the price of a linear term");
    app->add_option("--tolerance", options_.tolerance, "Exit with 3 if a parameter differs by more than this")
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->footer(R"(Units are matched by optimal assignment, layer by layer; rows of hidden units have unit
norm. Networks of different shape cannot be compared: exit code 3.

Examples:
  exhume compare demo/network.safetensors result/network.safetensors
  exhume compare demo/network.safetensors result/network.safetensors --tolerance 1e-9 --json)");
    return app;
  }

  int run(const Session& session) override {
    const NetworkComparison found = compare(first_, second_, options_);
    session.show(to_document(found, options_), [&] { return to_terminal(found); });
    return found.within ? kOk : kNotCertified;
  }

 private:
  [[nodiscard]] std::string to_terminal(const NetworkComparison& found) const {
    if (!found.comparable) {
      return fmt::format(
          "The networks cannot be compared: {} is {}, {} is {} (units that do nothing do not count).\n",
          first_, found.first_shape, second_, found.second_shape);
    }
    return errors(found.worst_error, found.rms_error) +
           (found.deep ? layers_text(found.layers) : units_text(found.units));
  }

  // The two numbers, the first in colour where there is a tolerance.
  [[nodiscard]] std::string errors(double worst, double rms) const {
    const bool bounded = std::isfinite(options_.tolerance);
    const bool good = !(worst > options_.tolerance);
    return fmt::format(
        "worst parameter error  {}{}\nrms parameter error    {:.3e}\n",
        toned(bounded ? (good ? Tone::kGood : Tone::kBad) : Tone::kBold, fmt::format("{:.3e}", worst)),
        bounded ? fmt::format("  ({} {:g})", good ? "at most" : "above", options_.tolerance) : "", rms);
  }

  std::string first_, second_;
  CompareOptions options_;
};

}  // namespace

std::unique_ptr<Command> compare_command() { return std::make_unique<Compare>(); }

}  // namespace exhume::cli
