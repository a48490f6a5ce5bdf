#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "exhume/io/digest.h"
#include "exhume/report/report.h"
#include "exhume/report/svg.h"
#include "exhume/base/version.h"

namespace exhume {
namespace {

using Json = nlohmann::ordered_json;

constexpr Index kScatterPoints = 500;
constexpr Index kSingularValues = 400;
constexpr std::size_t kDescentSteps = 400;
constexpr Index kHeatRows = 64, kHeatColumns = 96;
constexpr Index kUnits = 256;
constexpr int kHistogramBins = 41;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Seven digits are more than any picture shows.
Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.6e}", value));
}

Json rounded(const Vector& values, Index at_most) {
  Json list = Json::array();
  for (Index i = 0; i < std::min(values.size(), at_most); ++i) list.push_back(rounded(values(i)));
  return list;
}

Json rounded(const Matrix& values) {
  Json rows = Json::array();
  for (Index i = 0; i < values.rows(); ++i) rows.push_back(rounded(Vector(values.row(i)), values.cols()));
  return rows;
}

// Rows and outputs are walked together so that few points still show every output.
Json heldout_points(const RecoverResult& result) {
  Json predicted = Json::array(), observed = Json::array();
  const Index rows = std::min(result.predicted.rows(), result.observed.rows());
  const Index outputs = std::min(result.predicted.cols(), result.observed.cols());
  const Index all = rows * outputs, points = std::min(all, kScatterPoints);
  for (Index p = 0; p < points; ++p) {
    const Index at = p * all / points;
    const Index row = at / outputs, output = (at + p) % outputs;
    predicted.push_back(rounded(result.predicted(row, output)));
    observed.push_back(rounded(result.observed(row, output)));
  }
  return {{"observed", std::move(observed)}, {"predicted", std::move(predicted)}};
}

// Held-out residuals in equal bins over four of their root mean squares to either side; the outermost bins
// also count what lies beyond.
Json residual_histogram(const RecoverResult& result) {
  const Matrix residual = result.observed - result.predicted;
  if (residual.size() == 0) return nullptr;
  const double rms = std::sqrt(residual.squaredNorm() / static_cast<double>(residual.size()));
  if (!(rms > 0) || !std::isfinite(rms)) return nullptr;
  const double low = -4 * rms, width = 8 * rms / kHistogramBins;
  std::vector<int> counts(kHistogramBins, 0);
  for (Index i = 0; i < residual.size(); ++i) {
    const double at = (residual.data()[i] - low) / width;
    ++counts[static_cast<std::size_t>(std::clamp(at, 0.0, kHistogramBins - 1.0))];
  }
  return {{"low", rounded(low)}, {"width", rounded(width)}, {"counts", counts}};
}

Json descent(const std::vector<PolishStep>& steps) {
  Json list = Json::array();
  // Of a long descent every so many steps, and always the last.
  const std::size_t stride = std::max<std::size_t>(1, (steps.size() + kDescentSteps - 1) / kDescentSteps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i % stride != 0 && i + 1 != steps.size()) continue;
    list.push_back({{"stage", steps[i].stage},
                    {"iteration", steps[i].iteration},
                    {"relative_mse", rounded(steps[i].relative_mse)}});
  }
  return list;
}

Json units(const RecoverResult& result) {
  const Network& network = result.network;
  const Network& errors = result.standard_errors;
  const bool have_errors = errors.hidden() == network.hidden() && errors.inputs() == network.inputs() &&
                           errors.b.size() == network.b.size() && errors.outputs() == network.outputs();
  Json list = Json::array();
  for (Index i = 0; i < std::min(network.hidden(), kUnits); ++i) {
    Json unit = {{"bias", rounded(network.b(i))},
                 {"output_norm", rounded(network.A.col(i).norm())},
                 {"largest_weight", rounded(network.W.row(i).cwiseAbs().maxCoeff())}};
    Index input = 0;
    network.W.row(i).cwiseAbs().maxCoeff(&input);
    unit["largest_weight"] = rounded(network.W(i, input));
    unit["largest_weight_input"] = input + 1;
    if (result.activity.size() == network.hidden()) unit["active"] = rounded(result.activity(i));
    if (have_errors) {
      unit["max_standard_error"] =
          rounded(std::max({errors.W.row(i).maxCoeff(), errors.b(i), errors.A.col(i).maxCoeff()}));
    }
    list.push_back(std::move(unit));
  }
  return list;
}

}  // namespace

std::string to_json(const RecoverResult& result, const Provenance& provenance) {
  // A refusal measured nothing: null, not a zero that looks like perfection.
  const bool refused = result.status == Status::kRefused;
  const auto measured = [&](double value) { return refused ? Json(nullptr) : number(value); };
  Json json;
  json["status"] = to_string(result.status);
  json["reason"] = result.reason;
  json["verdict"] = verdict(result);
  json["route"] = result.route;
  json["inputs"] = result.network.inputs();
  json["hidden_units"] = result.network.hidden();
  json["outputs"] = result.network.outputs();
  json["linear_term"] = result.network.has_linear_term();
  json["samples"] = result.samples;
  json["held_out"] = result.held_out;
  json["heldout_relative_mse"] = measured(result.heldout_relative_mse);
  json["training_relative_mse"] = measured(result.training_relative_mse);
  json["noise_sd"] = measured(result.noise_sd);
  json["max_standard_error"] = measured(result.max_standard_error);
  json["functional_error_bound"] = measured(result.functional_error_bound);
  json["confidence"] = measured(result.confidence);
  json["bound_from"] = result.bound_from;
  json["signs_identifiable"] = refused ? Json(nullptr) : Json(result.signs_identifiable);
  if (result.identifiability) {
    const Identifiability& found = *result.identifiability;
    json["identifiability"] = {{"smallest_singular", number(found.smallest_singular)},
                               {"epsilon", number(found.epsilon)},
                               {"delta", number(found.delta)}};
  }
  json["conclusion"] = result.conclusion;
  json["assumed"] = result.assumed;
  json["assumptions"] = Json::array();
  for (const Assumption& a : result.assumptions) {
    json["assumptions"].push_back({{"name", a.name},
                                   {"value", number(a.value)},
                                   {"threshold", number(a.threshold)},
                                   {"holds", a.holds},
                                   {"required", a.required}});
  }
  json["tried"] = Json::array();
  for (const Attempt& a : result.tried) json["tried"].push_back({{"route", a.route}, {"outcome", a.outcome}});
  json["timings"] = Json::object();
  for (const StageTime& t : result.timings) {
    Json& seconds = json["timings"][t.stage];
    seconds = number((seconds.is_number() ? seconds.get<double>() : 0.0) + t.seconds);
  }
  json["seed"] = result.seed;
  json["version"] = kVersion;
  json["command"] = provenance.command;
  json["files"] = Json::array();
  for (const Provenance::File& f : provenance.files) {
    json["files"].push_back({{"role", f.role}, {"path", f.path}});
    if (!f.sha256.empty()) json["files"].back()["sha256"] = f.sha256;
  }
  if (!provenance.network_sha256.empty()) json["network_sha256"] = provenance.network_sha256;
  json["rows"] = result.rows;
  if (result.held_out_period > 0) json["split"] = {{"period", result.held_out_period}, {"seed", result.seed}};
  json["heldout_mean_square"] = measured(result.heldout_mean_square);

  Json& pictures = json["pictures"];
  pictures["singular_values"] = rounded(result.singular_values, kSingularValues);
  pictures["noise_floor"] = rounded(result.noise_floor);
  pictures["gap_units"] = result.gap_units;
  pictures["descent"] = descent(result.descent);
  pictures["heldout"] = heldout_points(result);
  pictures["residuals"] = residual_histogram(result);
  pictures["weights"] = rounded(svg::shrink(result.network.W, kHeatRows, kHeatColumns));
  pictures["output_weights"] = rounded(svg::shrink(result.network.A, kHeatRows, kHeatColumns));
  pictures["units"] = units(result);
  // Strings come from users and file names: whatever is not UTF-8 is replaced, never thrown over.
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  json = Json::parse(text);  // now with valid strings
  json["digest"] = sha256(text);
  return json.dump(2) + "\n";
}

bool digest_matches(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("digest") || !json["digest"].is_string()) return false;
  const auto stated = json["digest"].get<std::string>();
  json.erase("digest");
  return sha256(json.dump(2, ' ', false, Json::error_handler_t::replace)) == stated;
}

std::string verdict(const RecoverResult& result) {
  const Network& network = result.network;
  const std::string shape =
      fmt::format("{} input{}, {} hidden unit{}, {} output{}", network.inputs(),
                  network.inputs() == 1 ? "" : "s", network.hidden(), network.hidden() == 1 ? "" : "s",
                  network.outputs(), network.outputs() == 1 ? "" : "s");
  const double left = result.heldout_relative_mse;
  switch (result.status) {
    case Status::kCertified:
      if (result.noise_sd > 0) {
        return fmt::format(
            "The network was recovered ({}) from samples with noise of standard deviation {:.3g}; every "
            "weight is "
            "known to a standard error of {:.2g} or less.",
            shape, result.noise_sd, result.max_standard_error);
      }
      return fmt::format(
          "The network was recovered ({}): on {} rows that were never used for fitting it leaves a fraction "
          "{:.1e} of "
          "the outputs' variance.",
          shape, svg::group_thousands(fmt::format("{}", result.held_out)), left);
    case Status::kUncertified:
      return fmt::format("A network was found ({}) but is not certified: {}", shape, result.reason);
    case Status::kRefused:
      return fmt::format("No network was returned: {}", result.reason);
  }
  return result.reason;
}

}  // namespace exhume
