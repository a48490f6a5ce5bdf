// exhume compare: how far apart two networks are, up to the symmetries that do not change their function.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/json.h"
#include "command.h"
#include "compare_layers.h"
#include "exhume/error.h"
#include "exhume/network.h"
#include "io/open.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

constexpr std::size_t kUnitsShown = 8;

// The worst difference of each kind of parameter of one matched pair of units.
struct UnitDifference {
  Index first, second;  // canonical order
  bool turned;
  double weights, bias, outputs;
  double worst() const { return std::max({weights, bias, outputs}); }
};

std::vector<UnitDifference> unit_differences(const Network& first, const Network& second,
                                             const Alignment& alignment) {
  Network p = canonical(first);
  const Network q = canonical(second);
  std::vector<Index> turn;
  for (std::size_t i = 0; i < alignment.turned[0].size(); ++i) {
    if (alignment.turned[0][i]) turn.push_back(static_cast<Index>(i));
  }
  p = with_units_turned(p, 0, turn);
  std::vector<UnitDifference> list;
  for (Index i = 0; i < p.hidden(); ++i) {
    const Index j = alignment.match[0][static_cast<std::size_t>(i)];
    list.push_back({i, j, alignment.turned[0][static_cast<std::size_t>(i)],
                    (p.W().row(i) - q.W().row(j)).cwiseAbs().maxCoeff(), std::abs(p.b()(i) - q.b()(j)),
                    (p.A().col(i) - q.A().col(j)).cwiseAbs().maxCoeff()});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.worst() > b.worst(); });
  return list;
}

std::string shape(const Network& network) {
  return fmt::format("{} → {} → {}{}", network.inputs(), network.hidden(), network.outputs(),
                     network.has_skip_terms() ? " with a linear term" : "");
}

class Compare final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("compare", "Say how far apart two networks are, after aligning their units");
    app->add_option("A", first_, "A network (.safetensors, .npz, .onnx)")->required();
    app->add_option("B", second_, "Another one")->required();
    app->add_flag("--free-signs", free_signs_, "Let units be turned around, at the price of a linear term");
    app->add_option("--tolerance", tolerance_, "Exit with 3 if a parameter differs by more than this")
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->footer(
        "Units are matched by optimal assignment, layer by layer; rows of hidden units have unit norm. "
        "Networks of\n"
        "different shape cannot be compared: exit code 3.\n\n"
        "Examples:\n"
        "  exhume compare demo/network.safetensors result/network.safetensors\n"
        "  exhume compare demo/network.safetensors result/network.safetensors --tolerance 1e-9 --json");
    return app;
  }

  int run(const Session& session) override {
    StoredModel models[] = {open_model(first_), open_model(second_)};
    if (is_deep(models[0]) || is_deep(models[1])) {
      const Network first = deep(models[0], first_), second = deep(models[1], second_);
      return run_deep(first, second, session);
    }
    const auto [first, activation] = one_layer(std::move(models[0]), first_);
    const auto [second, other_activation] = one_layer(std::move(models[1]), second_);
    if (activation != other_activation) {
      throw DataError(fmt::format("the units of {} are {}, those of {} are {}: they cannot be compared",
                                  first_, activation, second_, other_activation));
    }
    const Alignment alignment = align(first, second, {.free_signs = free_signs_});
    const auto units =
        alignment.comparable ? unit_differences(first, second, alignment) : std::vector<UnitDifference>{};
    const bool good = alignment.comparable && !(alignment.worst_error > tolerance_);
    if (session.json) {
      put(json(alignment, units, good) + "\n");
    } else if (!session.quiet) {
      put(text(first, second, alignment, units));
    }
    return good ? kOk : kNotCertified;
  }

 private:
  static bool is_deep(const StoredModel& model) {
    const auto* network = std::get_if<Network>(&model);
    return network != nullptr && network->depth() > 1;
  }

  // A network of one hidden layer, with the activation that its file names.
  static std::pair<Network, std::string> one_layer(StoredModel model, const std::string& path) {
    if (auto* network = std::get_if<Network>(&model)) return {std::move(*network), "relu"};
    if (auto* rectified = std::get_if<RectifiedNetwork>(&model))
      return {std::move(rectified->network), "rectified " + rectified->activation};
    throw DataError(fmt::format("{} is not a network of rectified units; give one", path));
  }

  // A network of ReLUs of any depth.
  static Network deep(const StoredModel& model, const std::string& path) {
    if (const auto* network = std::get_if<Network>(&model)) return *network;
    throw DataError(
        fmt::format("{} is not a network of ReLUs, but the other one is; give two of a kind", path));
  }

  int run_deep(const Network& first, const Network& second, const Session& session) const {
    const Alignment alignment = align(first, second, {.free_signs = free_signs_});
    const bool good = alignment.comparable && !(alignment.worst_error > tolerance_);
    const LayerComparison found{alignment, canonical(first), canonical(second)};
    if (session.json) {
      Json json = summary(alignment.comparable, alignment.worst_error, alignment.rms_error, good);
      json["first_units"] = units_of_layers(found.first);
      json["second_units"] = units_of_layers(found.second);
      json["layers"] = layers_as_json(found);
      put(to_text(json) + "\n");
    } else if (!session.quiet) {
      put(alignment.comparable ? errors(alignment.worst_error, alignment.rms_error) + layers_as_text(found)
                               : not_comparable(shape_of_layers(found.first), shape_of_layers(found.second)));
    }
    return good ? kOk : kNotCertified;
  }

  [[nodiscard]] Json summary(bool comparable, double worst, double rms, bool good) const {
    return {{"comparable", comparable},        {"worst_error", number(worst)}, {"rms_error", number(rms)},
            {"tolerance", number(tolerance_)}, {"within_tolerance", good},     {"free_signs", free_signs_}};
  }

  std::string json(const Alignment& alignment, const std::vector<UnitDifference>& units, bool good) const {
    Json json = summary(alignment.comparable, alignment.worst_error, alignment.rms_error, good);
    json["units"] = Json::array();
    for (const UnitDifference& u : units) {
      json["units"].push_back({{"first", u.first + 1},
                               {"second", u.second + 1},
                               {"turned", u.turned},
                               {"weights", u.weights},
                               {"bias", u.bias},
                               {"outputs", u.outputs}});
    }
    return to_text(json);
  }

  std::string text(const Network& first, const Network& second, const Alignment& alignment,
                   const std::vector<UnitDifference>& units) const {
    if (!alignment.comparable) return not_comparable(shape(first), shape(second));
    std::string out = errors(alignment.worst_error, alignment.rms_error);
    if (units.empty()) return out;
    const std::size_t shown = std::min(units.size(), kUnitsShown);
    out += toned(Tone::kSoft, fmt::format("\n{:>6}  {:>6}  {:>10}  {:>10}  {:>10}", "unit", "match",
                                          "weights", "bias", "outputs"));
    out += "\n";
    for (std::size_t i = 0; i < shown; ++i) {
      const UnitDifference& u = units[i];
      out += fmt::format("{:>6}  {:>6}  {:>10.2e}  {:>10.2e}  {:>10.2e}{}\n", u.first + 1, u.second + 1,
                         u.weights, u.bias, u.outputs, u.turned ? "  turned" : "");
    }
    if (units.size() > shown) {
      out += toned(Tone::kSoft, fmt::format("the other {} differ no more", units.size() - shown)) + "\n";
    }
    return out;
  }

  [[nodiscard]] std::string not_comparable(const std::string& first, const std::string& second) const {
    return fmt::format(
        "The networks cannot be compared: {} is {}, {} is {} (units that do nothing do not count).\n", first_,
        first, second_, second);
  }

  // The two numbers, the first in colour where there is a tolerance.
  [[nodiscard]] std::string errors(double worst, double rms) const {
    const bool bounded = std::isfinite(tolerance_);
    const bool good = !(worst > tolerance_);
    return fmt::format(
        "worst parameter error  {}{}\nrms parameter error    {:.3e}\n",
        toned(bounded ? (good ? Tone::kGood : Tone::kBad) : Tone::kBold, fmt::format("{:.3e}", worst)),
        bounded ? fmt::format("  ({} {:g})", good ? "at most" : "above", tolerance_) : "", rms);
  }

  std::string first_, second_;
  bool free_signs_ = false;
  double tolerance_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<Command> compare_command() { return std::make_unique<Compare>(); }

}  // namespace exhume::cli
