#include "report/papers/layer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "data/reduce.h"
#include "exhume/error.h"
#include "exhume/papers/threshold.h"
#include "exhume/version.h"
#include "io/open.h"
#include "io/record_log.h"
#include "io/safetensors.h"
#include "report/certificate_diff.h"
#include "report/report.h"

namespace exhume {
namespace {

// Directions and thresholds of two runs on different machines.
constexpr double kSameUnits = 1e-6;
// Outputs of one layer at one row, computed twice.
constexpr double kSameFeatures = 1e-12;
constexpr const char* kUnits = "units.safetensors";

// What the certificate says that was asked for; nothing where it says nothing.
std::optional<LowestLayerOptions> stated_layer_options(const Json& stated) {
  const Json& said = at(stated, "options");
  if (!said.is_object() || at(said, "activation").is_null()) return std::nullopt;
  LowestLayerOptions options;
  options.activation = parse_lowest_activation(words(at(said, "activation")));
  options.start = parse_start_method(words(at(said, "start")));
  options.refine = words(at(said, "refine")) != "no";
  options.biased = words(at(said, "biased")) == "yes";
  const std::string hidden = words(at(said, "hidden"));
  if (hidden != "found") {
    const double units = hidden.empty() ? std::nan("") : std::strtod(hidden.c_str(), nullptr);
    if (!(units >= 1 && units < 1e6)) throw DataError("its options state no number of units that is one");
    options.hidden = static_cast<Index>(units);
  }
  const auto limit = [&](const char* name, double& value) {
    const std::string text = words(at(said, name));
    if (!text.empty()) value = std::strtod(text.c_str(), nullptr);
  };
  double degree = options.profile_degree;
  limit("profile_degree", degree);
  options.profile_degree = degree >= 1 && degree <= 12 ? static_cast<int>(degree) : 0;
  limit("least_threshold", options.least_threshold);
  limit("least_angle", options.least_angle);
  limit("most_overlap", options.most_overlap);
  limit("most_unexplained", options.most_unexplained);
  limit("most_error", options.most_error);
  return options;
}

class LayerCheck {
 public:
  LayerCheck(const Document& document, const StoredLayer& layer, const SamplePtr& samples,
             const std::filesystem::path& folder, const Control& control)
      : stated_(document.json), layer_(layer), samples_(samples), folder_(folder), control_(control) {}

  std::vector<Finding> run() {
    try {
      compare();
    } catch (const DataError& error) {
      bad(error.what());
    } catch (const std::invalid_argument& error) {
      bad(error.what());
    }
    return std::move(findings_);
  }

 private:
  void bad(std::string what) { findings_.push_back({"certificate", Outcome::kBad, std::move(what)}); }

  void compare() {
    const Json& seed = at(stated_, "seed");
    if (!seed.is_number_unsigned()) {
      bad("it states no seed, without which the layer cannot be learnt again");
      return;
    }
    std::vector<LowestLayerOptions> tries;
    if (const std::optional<LowestLayerOptions> stated = stated_layer_options(stated_)) {
      tries.push_back(*stated);
    } else {
      LowestLayerOptions usual;
      if (layer_.activation == "sigmoid") usual.activation = LowestActivation::kSigmoid;
      tries.push_back(usual);
      usual.hidden = layer_.W.rows();
      if (layer_.W.rows() > 0) tries.push_back(usual);
    }
    for (LowestLayerOptions& options : tries) {
      options.seed = seed.get<std::uint64_t>();
      const LowestLayerResult again = learn(options);
      if (!same_units(again.layer)) continue;
      compare_document(again);
      return;
    }
    findings_.push_back({"network", Outcome::kBad, "the samples, learnt from again, give other units"});
  }

  [[nodiscard]] LowestLayerResult learn(const LowestLayerOptions& options) const {
    return at(stated_, "set").is_null() ? lowest_layer(samples_, options, control_)
                                        : halfspaces(samples_, options, control_);
  }

  [[nodiscard]] bool same_units(const LowestLayer& again) const {
    if (again.W.rows() != layer_.W.rows() || again.W.cols() != layer_.W.cols()) return false;
    if (again.W.rows() == 0) return true;
    return to_string(again.activation) == layer_.activation &&
           (again.W - layer_.W).cwiseAbs().maxCoeff() <= kSameUnits &&
           (again.t - layer_.t).cwiseAbs().maxCoeff() <= kSameUnits * (1 + again.t.cwiseAbs().maxCoeff());
  }

  void compare_document(const LowestLayerResult& again) {
    DiffRules rules;
    rules.same_version = words(at(stated_, "version")) == kVersion;
    const UnitProfiles profiles = unit_profiles(again.layer, *samples_, control_);
    const std::vector<std::string> found = differences(stated_, make_document(again, profiles).json, rules);
    for (const std::string& what : found) bad(what);
    if (found.empty()) {
      findings_.push_back({"certificate", Outcome::kGood,
                           "learnt again from the samples, the layer and its numbers are these"});
    }
    if (!same_start(again.layer)) bad_file("units", "the directions of step 1 are not those of the samples");
    if (there("units.svg") && rules.same_version &&
        read_log(folder_ / "units.svg", "") != units_picture(profiles))
      bad_file("picture", "units.svg is not the picture of this layer");
    if (there("features.npy") && !same_features())
      bad_file("the layer's outputs", "features.npy does not hold the layer's outputs at these rows");
  }

  void bad_file(std::string part, std::string what) {
    findings_.push_back({std::move(part), Outcome::kBad, std::move(what)});
  }
  [[nodiscard]] bool there(const char* name) const { return std::filesystem::exists(folder_ / name); }

  // The directions after step 1, beside the units.
  [[nodiscard]] bool same_start(const LowestLayer& again) const {
    if (!there(kUnits)) return true;
    const Tensors tensors = read_safetensors(folder_ / kUnits);
    if (tensors.find("W_step1") == nullptr) return again.start.size() == 0;
    const Matrix start = tensors.matrix("W_step1", kUnits);
    return start.rows() == again.start.rows() && start.cols() == again.start.cols() &&
           (start.size() == 0 || (start - again.start).cwiseAbs().maxCoeff() <= kSameUnits);
  }

  [[nodiscard]] bool same_features() const {
    const TablePtr table = open_table(folder_ / "features.npy", control_);
    if (table->rows() != samples_->rows() || table->cols() != layer_.W.rows()) return false;
    const LowestActivation activation = parse_lowest_activation(layer_.activation);
    SampleBlock block;
    for (Index first = 0; first < samples_->rows(); first += kBlockRows) {
      control_.check();
      const Index rows = std::min(kBlockRows, samples_->rows() - first);
      samples_->read(first, rows, block);
      RowMatrix stored(rows, table->cols());
      table->read(first, rows, stored.data());
      const RowMatrix made = lowest_layer_features(layer_.W, layer_.t, activation, block.x());
      if (!((stored - made).cwiseAbs().maxCoeff() <= kSameFeatures * (1 + made.cwiseAbs().maxCoeff())))
        return false;
    }
    return true;
  }

  const Json& stated_;
  const StoredLayer& layer_;
  const SamplePtr& samples_;
  const std::filesystem::path& folder_;
  const Control& control_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_layer_by_learning(const Document& document, const StoredLayer& layer,
                                             const SamplePtr& samples, const std::filesystem::path& folder,
                                             const Control& control) {
  return LayerCheck(document, layer, samples, folder, control).run();
}

}  // namespace exhume
