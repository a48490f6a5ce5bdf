// What an extracted network has to say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/counted.h"
#include "certify/certificate_json.h"
#include "report/report.h"
#include "report/report_page.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/shape_words.h"
#include "report/svg.h"
#include "report/weight_pictures.h"

namespace exhume {
namespace {

// "36,105 = 2^15.14"
std::string as_power(Index queries) {
  return queries > 0 ? fmt::format("{} = 2^{:.2f}", grouped(queries), std::log2(static_cast<double>(queries)))
                     : "0";
}

std::string activation_words(const ExtractResult& result) {
  if (result.is_deep()) return result.network.has_skip_terms() ? "ReLU with skip terms" : "ReLU";
  if (result.activation == "leaky relu") return fmt::format("leaky ReLU of slope {:.6g}", result.slope);
  if (result.activation == "absolute value") return "absolute value";
  if (result.network.activation != "relu") return result.network.activation + " units";
  return result.activation == "relu" ? "ReLU" : "ReLU with a linear term";
}

std::string domain_words(const ExtractResult& result) {
  return result.box.bounded() ? fmt::format("inputs {}", result.box.words())
                              : fmt::format("normal inputs of standard deviation {:.3g}", result.spread);
}

// An end of the box: one number, or one per input.
Json box_end(double common, const Vector& each) {
  return each.size() > 0 ? Json(std::vector<double>(each.data(), each.data() + each.size())) : number(common);
}

Json own_keys(const ExtractResult& result) {
  const bool refused = result.certificate.status == Status::kRefused;
  // What fresh queries say, where there were some.
  const auto measured = [&](double value) {
    return refused || result.fresh == 0 ? Json(nullptr) : number(value);
  };
  Json json;
  json["oracle"] = result.oracle;
  json["inputs"] = result.network.inputs();
  json["hidden_units"] = result.is_deep() ? Json(result.network.widths()) : Json(result.network.hidden());
  json["hidden_units_are"] = refused ? Json(nullptr) : Json("at least");
  json["unseen_share"] = measured(result.unseen_share);
  json["outputs"] = result.network.outputs();
  json["activation"] = result.activation;
  json["slope"] = measured(result.slope);
  json["linear_term"] = result.network.has_skip_terms();
  json["signs_identifiable"] = refused ? Json(nullptr) : Json(result.signs_identifiable);
  json["precision"] = result.precision;
  json["reading"] = result.reading;
  json["queries"] = result.queries;
  json["queries_limit"] = result.limit == 0 ? Json(nullptr) : Json(result.limit);
  json["queries_this_run"] = result.sent;
  json["queries_by_stage"] = Json::object();
  for (const ExtractMove& each : result.moves)
    json["moves"].push_back({{"move", each.move}, {"why", each.why}, {"queries_before", each.queries}});
  for (const StageQueries& stage : result.stages) json["queries_by_stage"][stage.stage] = stage.queries;
  json["low"] = box_end(result.box.low, result.box.lows);
  json["high"] = box_end(result.box.high, result.box.highs);
  json["spread"] = measured(result.spread);
  json["fresh_queries"] = result.fresh;
  json["logged_worst"] = measured(result.logged_worst);
  json["fresh_worst"] = measured(result.fresh_worst);
  json["heldout_relative_mse"] = measured(result.fresh_relative_mse);
  json["found_outside_subspace"] = result.found_outside;
  json["log_digest"] = result.log_digest;
  if (!result.resumed.empty()) json["resumed"] = result.resumed;
  for (const LayerFound& layer : result.found)
    if (result.fresh == 0) json["layers_found"].push_back({{"units", layer.units}, {"whole", layer.whole}});
  return json;
}

// The fresh queries, and the weights as a recovery shows them.
Json pictures(const ExtractResult& result) {
  Json json = Json::object();
  if (result.certificate.status == Status::kRefused) return json;
  json["heldout"] = answer_picture(result.predicted, result.observed);
  json["residuals"] = residual_picture(result.predicted, result.observed);
  add_weight_pictures(result.network, result.certificate, json);
  return json;
}

Json sections(const ExtractResult& result) {
  Json list = Json::array();
  list.push_back(facts_section(facts(result)));
  Json rows = Json::array();
  for (const StageQueries& stage : result.stages) rows.push_back({stage.stage, grouped(stage.queries)});
  list.push_back(table_section("Queries by stage", "Every query that was sent is counted.",
                               {"stage", "queries"}, std::move(rows)));
  if (result.is_deep()) {
    list.push_back(network_section("Layers", "Orange: positive, blue: negative; stronger is bolder.",
                                   svg::picture_of(result.network)));
  }
  if (!result.kinks.empty()) {
    // The outermost lie so far from all others that these would be one point: nine in ten are drawn.
    const std::size_t edge = result.kinks.size() / 20;
    svg::Chart chart;
    svg::Series series;
    for (std::size_t i = edge; i + edge < result.kinks.size(); ++i) {
      series.x.push_back(result.kinks[i]);
      series.y.push_back(static_cast<double>(i + 1));
    }
    series.name = "kinks";
    series.points = true;
    series.line = false;
    chart.x.label = "position on the line";
    chart.y.label = "kinks so far";
    chart.series.push_back(std::move(series));
    list.push_back(
        chart_section("Kinks on the first line",
                      fmt::format("Each is where a unit switches. {} in all; {} from {:.3g} to {:.3g}.",
                                  result.kinks.size(), edge > 0 ? "drawn are nine in ten," : "they lie",
                                  result.kinks[edge], result.kinks[result.kinks.size() - 1 - edge]),
                      chart));
  }
  return list;
}

}  // namespace

std::string verdict(const ExtractResult& result) {
  const std::string shape = shape_sentence(result.network);
  switch (result.certificate.status) {
    case Status::kCertified:
    case Status::kEstimated:
      return fmt::format(
          "The network was extracted ({}) with {} queries; it answers all of them, {} of them fresh and "
          "random, to {}. At 99.9% confidence it differs from the black box on at most {:.2g}% of inputs "
          "drawn "
          "like these.",
          shape, grouped(result.queries), grouped(result.fresh), result.precision, 100 * result.unseen_share);
    case Status::kUncertified:
      return fmt::format("A network was found ({}) but is not certified: {}.", shape,
                         result.certificate.reason);
    case Status::kRefused:
      return fmt::format("No network was returned: {}.", result.certificate.reason);
  }
  return result.certificate.reason;
}

std::vector<Fact> facts(const ExtractResult& result) {
  std::vector<Fact> list = {{"oracle", result.oracle}};
  if (result.certificate.status != Status::kRefused) {
    list.push_back(
        {"network", fmt::format("{}, {}{}", shape_numbers(result.network), activation_words(result),
                                result.signs_identifiable ? "" : "; the units' signs are not determined")});
    list.push_back({"precision", result.precision});
  }
  list.push_back(
      {"queries", as_power(result.queries) +
                      (result.limit > 0 ? fmt::format(", of {} allowed", grouped(result.limit)) : "")});
  if (!result.resumed.empty())
    list.push_back({"resumed", fmt::format("{}; {} made now", result.resumed, grouped(result.sent))});
  if (result.fresh == 0) {
    for (std::size_t l = 0; l < result.found.size(); ++l) {
      list.push_back({fmt::format("layer {}", l + 1),
                      fmt::format("{} found, {} of them completely", counted(result.found[l].units, "unit"),
                                  result.found[l].whole)});
    }
  }
  if (result.certificate.status == Status::kRefused) return list;
  if (result.reading == "logits")
    list.push_back({"outputs", "logits up to a constant per row (log probabilities minus their mean)"});
  if (result.found_outside > 0)
    list.push_back({"outside", counted(result.found_outside, "unit") + " found beyond the subspace"});
  if (result.fresh == 0) return list;
  list.push_back({"hidden units", fmt::format("a lower bound: others may act on less than {:.2g}% of {}",
                                              100 * result.unseen_share, domain_words(result))});
  list.push_back({"fresh queries", fmt::format("{}, from {}: relative mse {:.3g}", grouped(result.fresh),
                                               domain_words(result), result.fresh_relative_mse)});
  return list;
}

Document make_document(const ExtractResult& result) {
  return make_document(result.certificate, {.kind = "extracted network",
                                            .verdict = verdict(result),
                                            .own = own_keys(result),
                                            .pictures = pictures(result),
                                            .sections = sections(result)});
}

}  // namespace exhume
