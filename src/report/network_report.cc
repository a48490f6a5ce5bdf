// What a recovered network of any depth has to say.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/effects_section.h"
#include "report/report.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/shape_words.h"
#include "report/svg.h"
#include "report/weight_pictures.h"

namespace exhume {
namespace {

constexpr Index kSingularValues = 400;
constexpr std::size_t kDescentSteps = 400;

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

Json students(const std::vector<StudentTrial>& trials) {
  Json list = Json::array();
  for (const StudentTrial& trial : trials) {
    list.push_back(
        {{"widths", trial.widths}, {"trained", number(trial.trained)}, {"polished", number(trial.polished)}});
  }
  return list;
}

Json own_keys(const Result& result) {
  // A refusal measured nothing: null, not a zero that looks like perfection.
  const bool refused = result.certificate.status == Status::kRefused;
  const auto measured = [&](double value) { return refused ? Json(nullptr) : number(value); };
  const Network& network = result.network;
  const Errors& errors = result.errors;
  Json json;
  json["inputs"] = network.inputs();
  json["hidden_units"] = result.is_deep() ? Json(network.widths()) : Json(network.hidden());
  json["outputs"] = network.outputs();
  json["activation"] = result.activation;
  if (result.is_deep()) {
    json["skip_terms"] = !result.plain;
    json["minimal"] = result.minimal;
  } else {
    json["linear_term"] = network.has_skip_terms();
  }
  if (!result.precision.empty()) json["precision"] = result.precision;
  json["heldout_relative_mse"] = measured(errors.heldout_relative_mse);
  json["training_relative_mse"] = measured(errors.training_relative_mse);
  json["heldout_mean_square"] = measured(errors.heldout_mean_square);
  json["noise_sd"] = measured(errors.noise_sd);
  json["max_standard_error"] = measured(errors.max_standard_error);
  if (errors.noise_sd > 0 && !result.is_deep() && !refused) {
    json["unseen_unit"] = number(errors.unseen_unit);
    json["intervals"] = interval_words(errors);
    json["effects"] = effects_json(errors);
  }
  json["functional_error_bound"] = measured(errors.functional_error_bound);
  json["confidence"] = measured(errors.confidence);
  json["bound_from"] = errors.bound_from;
  json["signs_identifiable"] = refused ? Json(nullptr) : Json(result.signs_identifiable);
  if (errors.identifiability) {
    json["identifiability"] = {{"smallest_singular", number(errors.identifiability->smallest_singular)},
                               {"epsilon", number(errors.identifiability->epsilon)},
                               {"delta", number(errors.identifiability->delta)}};
  }
  if (!result.support.empty()) json["support_entries"] = result.support.size();
  if (result.is_deep()) {
    json["smallest_singular"] = Json::array();
    for (const double value : errors.smallest_singular) json["smallest_singular"].push_back(number(value));
    json["weights_within"] = number(errors.weights_within);
    json["students"] = students(result.diagnostics.students);
  }
  return json;
}

// What the page draws of the search, of the held-out rows, and of the weights of one hidden layer.
Json pictures(const Result& result) {
  const Diagnostics& found = result.diagnostics;
  Json json = Json::object();
  if (!result.is_deep()) {
    json = {{"singular_values", rounded(found.singular_values, kSingularValues)},
            {"singular_value_count", found.singular_values.size()},
            {"noise_floor", rounded(found.noise_floor)},
            {"gap_units", found.gap_units},
            {"descent", descent(found.descent)}};
  }
  json["heldout"] = answer_picture(found.predicted, found.observed);
  json["residuals"] = residual_picture(found.predicted, found.observed);
  if (!result.is_deep() && !found.profiles.empty()) json["profiles"] = profile_picture(found.profiles);
  add_weight_pictures(result.network, result.certificate, json, found.activity,
                      result.errors.standard_errors);
  if (Json intervals = interval_picture(result); !intervals.is_null())
    json["intervals"] = std::move(intervals);
  return json;
}

Json student_section(const std::vector<StudentTrial>& trials) {
  Json rows = Json::array();
  for (const StudentTrial& trial : trials) {
    rows.push_back({fmt::format("{}", fmt::join(trial.widths, "-")), rounded(trial.trained),
                    trial.polished > 0 ? Json(rounded(trial.polished)) : Json("-")});
  }
  return table_section("Students",
                       "The widths that were tried, and the share of the variance that was left after "
                       "training and after the polish of all layers.",
                       {"Units", "Trained to", "Polished to"}, std::move(rows));
}

// What several hidden layers add to the page.
Json sections(const Result& result) {
  Json list = Json::array();
  if (!result.is_deep()) {
    if (Json effects = effects_section(result); !effects.is_null()) list.push_back(std::move(effects));
    return list;
  }
  list.push_back(network_section("Layers", "Orange: positive, blue: negative; stronger is bolder.",
                                 svg::picture_of(result.network)));
  if (Json intervals = interval_section(result); !intervals.is_null()) list.push_back(std::move(intervals));
  if (!result.diagnostics.students.empty()) list.push_back(student_section(result.diagnostics.students));
  return list;
}

}  // namespace

Document make_document(const Result& result) {
  return make_document(result.certificate, {.kind = result.is_deep() ? "deep network" : "network",
                                            .verdict = verdict(result),
                                            .own = own_keys(result),
                                            .pictures = pictures(result),
                                            .sections = sections(result)});
}

std::string verdict(const Result& result) {
  const Certificate& certificate = result.certificate;
  const Errors& errors = result.errors;
  const std::string network = shape_sentence(result.network);
  switch (certificate.status) {
    case Status::kCertified: {
      const bool exact = result.precision == "double precision" || result.precision.empty();
      return fmt::format(
          "The network was recovered ({}{}): on {} held-out rows its mean squared error is {:.1e} of the "
          "outputs' variance.",
          network, exact ? "" : "; to " + result.precision,
          svg::group_thousands(fmt::format("{}", certificate.held_out)), errors.heldout_relative_mse);
    }
    case Status::kEstimated:
      return fmt::format(
          "A network ({}) was fitted to samples with noise of standard deviation {:.3g}. If they come from "
          "such a network plus independent noise, which no test contradicts, {}.",
          network, errors.noise_sd,
          errors.max_standard_error > 0
              ? fmt::format("every weight has a standard error of {:.2g} or less", errors.max_standard_error)
              : fmt::format("it differs from that network by at most {:.2g} (root mean square)",
                            std::sqrt(errors.functional_error_bound)));
    case Status::kUncertified:
      return fmt::format("A network was found ({}) but is not certified: {}.", network, certificate.reason);
    case Status::kRefused:
      return fmt::format("No network was returned: {}.", certificate.reason);
  }
  return certificate.reason;
}

std::vector<Fact> facts(const Result& result) {
  std::vector<Fact> list;
  const Certificate& certificate = result.certificate;
  const Errors& errors = result.errors;
  const bool refused = certificate.status == Status::kRefused, deep = result.is_deep();
  const bool skips = result.network.has_skip_terms();
  if (!certificate.route.empty()) list.push_back({"route", certificate.route});
  if (!refused) {
    list.push_back(
        {"network", fmt::format("{}{}{}{}", shape_sentence(result.network),
                                result.activation == "relu" ? "" : ", activation " + result.activation,
                                !skips ? ""
                                : deep ? ", with skip terms"
                                       : ", with a linear term",
                                result.signs_identifiable ? "" : "; the units' signs are not determined")});
  }
  const auto grouped = [](Index count) { return svg::group_thousands(fmt::format("{}", count)); };
  list.push_back(
      {"samples",
       fmt::format("{}, of which {} held out{}", grouped(certificate.samples), grouped(certificate.held_out),
                   certificate.searched > 0 ? fmt::format("; {} of the others were enough for the search",
                                                          grouped(certificate.searched))
                                            : "")});
  if (refused) return list;
  list.push_back(
      {"held-out error", fmt::format("{:.3g} of the outputs' variance", errors.heldout_relative_mse)});
  if (errors.noise_sd > 0) {
    // Where a check failed, what is left may be something else than noise.
    list.push_back({stands(certificate.status) ? "noise" : "residual",
                    fmt::format("standard deviation {:.4g}", errors.noise_sd)});
    list.push_back({"standard errors",
                    errors.max_standard_error > 0 ? fmt::format("{:.3g} at most", errors.max_standard_error)
                    : !errors.no_intervals.empty()
                        ? errors.no_intervals
                        : std::string(deep && skips ? "not computed beside skip terms"
                                                    : "not computed for so many weights")});
    if (errors.max_standard_error > 0 && errors.coverage > 0) {
      list.push_back({"95% intervals", fmt::format("{:.3g} standard errors to either side; in trials with as "
                                                   "many rows per weight {:.0f}% contained the truth",
                                                   errors.reach, 100 * errors.coverage)});
    }
    if (errors.unseen_unit > 0 && !deep) {
      list.push_back(
          {"units",
           fmt::format("a lower bound: a further unit that explains less than {:.2g} of the outputs' "
                       "variance would not be seen",
                       errors.unseen_unit)});
    }
  }
  if (!deep) return list;
  if (!errors.smallest_singular.empty()) {
    list.push_back({"determined", fmt::format("smallest singular value by layer {:.2g}",
                                              fmt::join(errors.smallest_singular, ", "))});
  }
  list.push_back({"students", fmt::format("{} trained", result.diagnostics.students.size())});
  return list;
}

}  // namespace exhume
