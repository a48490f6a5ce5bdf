// What a recovered network has to say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "certify/certificate_writer.h"
#include "report/report.h"
#include "report/rounded.h"
#include "report/svg.h"
#include "report/weight_pictures.h"

namespace exhume {
namespace {

constexpr Index kScatterPoints = 500;
constexpr Index kSingularValues = 400;
constexpr std::size_t kDescentSteps = 400;
constexpr Index kHeatRows = 64, kHeatColumns = 96;
constexpr Index kUnits = 256;
constexpr int kHistogramBins = 41;

// Rows and outputs are walked together so that few points still show every output.
Json heldout_points(const RecoverResult& result) {
  Json predicted = Json::array(), observed = Json::array();
  const Index rows = std::min(result.predicted.rows(), result.observed.rows());
  const Index outputs = std::min(result.predicted.cols(), result.observed.cols());
  const Index all = rows * outputs, points = std::min(all, kScatterPoints);
  for (Index p = 0; p < points; ++p) {
    const Index at = p * all / points;
    const Index row = at / outputs, output = (points == all ? at : p) % outputs;  // all outputs in turn
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
                           errors.b().size() == network.b().size() && errors.outputs() == network.outputs();
  Json list = Json::array();
  for (Index i = 0; i < std::min(network.hidden(), kUnits); ++i) {
    Index input = 0;
    network.W().row(i).cwiseAbs().maxCoeff(&input);
    Json unit = {{"bias", rounded(network.b()(i))},
                 {"output_norm", rounded(network.A().col(i).norm())},
                 {"largest_weight", rounded(network.W()(i, input))},
                 {"largest_weight_input", input + 1}};
    if (result.activity.size() == network.hidden()) unit["active"] = rounded(result.activity(i));
    if (have_errors) {
      unit["max_standard_error"] =
          rounded(std::max({errors.W().row(i).maxCoeff(), errors.b()(i), errors.A().col(i).maxCoeff()}));
    }
    list.push_back(std::move(unit));
  }
  return list;
}

std::string shape(const Network& network) {
  return fmt::format("{} input{}, {} hidden unit{}, {} output{}", network.inputs(), plural(network.inputs()),
                     network.hidden(), plural(network.hidden()), network.outputs(),
                     plural(network.outputs()));
}

Json own_keys(const RecoverResult& result) {
  // A refusal measured nothing: null, not a zero that looks like perfection.
  const bool refused = result.status == Status::kRefused;
  const auto measured = [&](double value) { return refused ? Json(nullptr) : number(value); };
  Json json;
  json["inputs"] = result.network.inputs();
  json["hidden_units"] = result.network.hidden();
  json["outputs"] = result.network.outputs();
  json["activation"] = result.activation;
  json["linear_term"] = result.network.has_skip_terms();
  if (!result.precision.empty()) json["precision"] = result.precision;
  json["heldout_relative_mse"] = measured(result.heldout_relative_mse);
  json["training_relative_mse"] = measured(result.training_relative_mse);
  json["heldout_mean_square"] = measured(result.heldout_mean_square);
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
  if (!result.support.empty()) json["support_entries"] = result.support.size();
  return json;
}

Json pictures(const RecoverResult& result) {
  Json json = {{"singular_values", rounded(result.singular_values, kSingularValues)},
               {"singular_value_count", result.singular_values.size()},
               {"noise_floor", rounded(result.noise_floor)},
               {"gap_units", result.gap_units},
               {"descent", descent(result.descent)},
               {"heldout", heldout_points(result)},
               {"residuals", residual_histogram(result)},
               {"weights", rounded(svg::shrink(result.network.W(), kHeatRows, kHeatColumns))},
               {"output_weights", rounded(svg::shrink(result.network.A(), kHeatRows, kHeatColumns))},
               {"units", units(result)}};
  if (Json images = image_picture(result); !images.is_null()) json["images"] = std::move(images);
  if (Json intervals = interval_picture(result); !intervals.is_null())
    json["intervals"] = std::move(intervals);
  return json;
}

}  // namespace

std::string to_json(const RecoverResult& result) {
  return write_certificate(
      result,
      {.kind = "network", .verdict = verdict(result), .own = own_keys(result), .pictures = pictures(result)});
}

std::string verdict(const RecoverResult& result) {
  const Network& network = result.network;
  const double left = result.heldout_relative_mse;
  switch (result.status) {
    case Status::kCertified:
      return fmt::format(
          "The network was recovered ({}{}): on {} rows that were never used for fitting it leaves a "
          "fraction "
          "{:.1e} of the outputs' variance.",
          shape(network),
          result.precision == "double precision" || result.precision.empty() ? ""
                                                                             : "; to " + result.precision,
          svg::group_thousands(fmt::format("{}", result.held_out)), left);
    case Status::kEstimated:
      return fmt::format(
          "A network was estimated ({}) from samples with noise of standard deviation {:.3g}: if they are "
          "those "
          "of such a network plus independent noise, which nothing in them speaks against, {}.",
          shape(network), result.noise_sd,
          result.max_standard_error > 0
              ? fmt::format("every weight is known to a standard error of {:.2g} or less",
                            result.max_standard_error)
              : fmt::format("it is off by {:.2g} at most (root mean square)",
                            std::sqrt(result.functional_error_bound)));
    case Status::kUncertified:
      return fmt::format("A network was found ({}) but is not certified: {}", shape(network), result.reason);
    case Status::kRefused:
      return fmt::format("No network was returned: {}", result.reason);
  }
  return result.reason;
}

std::vector<Fact> facts(const RecoverResult& result) {
  std::vector<Fact> list;
  const bool refused = result.status == Status::kRefused;
  const Network& n = result.network;
  if (!result.route.empty()) list.push_back({"route", result.route});
  if (!refused) {
    list.push_back(
        {"network", fmt::format("{}{}{}{}", shape(n),
                                result.activation == "relu" ? "" : ", activation " + result.activation,
                                n.has_skip_terms() ? ", with a linear term" : "",
                                result.signs_identifiable ? "" : "; the units' signs are not determined")});
  }
  list.push_back({"samples", fmt::format("{}, of which {} held out",
                                         svg::group_thousands(fmt::format("{}", result.samples)),
                                         svg::group_thousands(fmt::format("{}", result.held_out)))});
  if (refused) return list;
  list.push_back(
      {"held-out error", fmt::format("{:.3g} of the outputs' variance", result.heldout_relative_mse)});
  if (result.noise_sd > 0) {
    list.push_back({"noise", fmt::format("standard deviation {:.4g}", result.noise_sd)});
    list.push_back(
        {"standard errors", result.max_standard_error > 0
                                ? fmt::format("{:.3g} at most", result.max_standard_error)
                                : std::string(n.has_skip_terms() ? "not computed beside a linear term"
                                                                 : "not computed for so many weights")});
  }
  return list;
}

}  // namespace exhume
