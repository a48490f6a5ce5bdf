#include "report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "certify/certificate_json.h"
#include "data/planted.h"
#include "exhume/error.h"
#include "report/next_steps.h"
#include "report/report_page.h"
#include "report/result_files.h"
#include "report/rounded.h"
#include "report/view.h"
#include "well_formed.h"

namespace exhume::report_test {
namespace {

using nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Result example(Index d, Index k, Index m) {
  Result result;
  result.certificate.status = Status::kCertified;
  result.certificate.reason = "The residual on the held-out rows is at rounding level.";
  result.certificate.route = "depth2";
  result.network = canonical(plant({.inputs = d, .hidden = k, .outputs = m, .seed = 3}));
  result.certificate.samples = 3000;
  result.certificate.held_out = 150;
  result.errors.heldout_relative_mse = 3.1e-31;
  result.errors.training_relative_mse = 2.9e-31;
  result.certificate.assumptions = {{"inputs are Gaussian", 1.02, 3.3, true},
                                    {"rows are distinct", 4, 0, false}};
  result.certificate.tried = {{"depth2", "certified"}};
  result.certificate.timings = {{"moments", 0.25}, {"polish", 0.5}, {"moments", 0.25}};
  result.certificate.seed = 18446744073709551615u;
  result.diagnostics.singular_values = Vector::LinSpaced(k + 5, 0, 1).array().exp().reverse();
  result.diagnostics.noise_floor = 1.2;
  result.diagnostics.gap_units = k;
  for (int i = 0; i < 20; ++i)
    result.diagnostics.descent.push_back({i < 12 ? "sign-free" : "signed", i, std::pow(10, -1.5 * i)});
  result.diagnostics.observed = Stream(1, "observed").normal_matrix(100, m);
  result.diagnostics.predicted = result.diagnostics.observed;
  return result;
}

TEST(ReportJson, HasTheStableKeys) {
  const json out = json::parse(to_json([] {
    Result result = example(4, 6, 3);
    result.certificate.files = {{"inputs", "x.npy"}};
    result.certificate.command = "exhume recover x.npy y.npy";
    return result;
  }()));
  for (const char* key : {"status", "reason", "route", "hidden_units", "samples", "heldout_relative_mse",
                          "noise_sd", "max_standard_error", "functional_error_bound", "confidence",
                          "signs_identifiable", "assumptions", "tried", "timings", "seed", "version"}) {
    EXPECT_TRUE(out.contains(key)) << key;
  }
  EXPECT_EQ(out["status"], "certified");
  EXPECT_EQ(out["hidden_units"], 6);
  EXPECT_EQ(out["heldout_relative_mse"], 3.1e-31);
  EXPECT_EQ(out["assumptions"][1]["name"], "rows are distinct");
  EXPECT_EQ(out["assumptions"][1]["holds"], false);
  EXPECT_EQ(out["tried"][0]["outcome"], "certified");
  EXPECT_EQ(out["timings"]["moments"], 0.5);
  EXPECT_EQ(out["seed"], 18446744073709551615u);
  EXPECT_EQ(out["files"][0]["path"], "x.npy");
}

TEST(ReportJson, TurnsWhatIsNotFiniteIntoNull) {
  Result result = example(2, 2, 1);
  result.errors.heldout_relative_mse = kInfinity;
  result.errors.functional_error_bound = std::nan("");
  result.certificate.assumptions[0].value = -kInfinity;
  result.diagnostics.singular_values(0) = std::nan("");
  result.diagnostics.descent[1].relative_mse = kInfinity;
  const json out = json::parse(to_json(result));
  EXPECT_TRUE(out["heldout_relative_mse"].is_null());
  EXPECT_TRUE(out["functional_error_bound"].is_null());
  EXPECT_TRUE(out["assumptions"][0]["value"].is_null());
  EXPECT_TRUE(out["pictures"]["singular_values"][0].is_null());
  EXPECT_TRUE(out["pictures"]["descent"][1]["relative_mse"].is_null());
  EXPECT_TRUE(well_formed(to_html(to_json(result))));
}

TEST(ReportJson, RoundsSubnormalNumbersToo) {
  EXPECT_EQ(rounded(1.23456789e-310).get<double>(), 1.234568e-310);
  EXPECT_EQ(rounded(0.0).get<double>(), 0.0);
}

TEST(ReportHtml, TypesetKeepsCharactersWhole) {
  EXPECT_EQ(typeset("4 → 4 → 1"), "4 → 4 → 1");
  EXPECT_EQ(typeset("-4 ≥ é"), "−4 ≥ é");
}

TEST(ReportJson, KeepsPicturesSmall) {
  Result result = example(300, 200, 40);
  result.diagnostics.observed = RowMatrix::Ones(500, 40);
  result.diagnostics.predicted = RowMatrix::Ones(500, 40);
  result.diagnostics.descent.assign(5000, {"signed", 1, 0.5});
  const std::string text = to_json(result);
  EXPECT_LT(text.size(), 600000u);
  const json pictures = json::parse(text)["pictures"];
  EXPECT_EQ(pictures["heldout"]["observed"].size(), 500u);
  EXPECT_LE(pictures["weights"].size(), 64u);
  EXPECT_LE(pictures["descent"].size(), 402u);
}

TEST(ReportJson, ScatterShowsEveryOutput) {
  Result result = example(3, 3, 5);
  result.diagnostics.observed.resize(500, 5);
  for (Index j = 0; j < 5; ++j) result.diagnostics.observed.col(j).setConstant(static_cast<double>(j));
  result.diagnostics.predicted = result.diagnostics.observed;
  const json points = json::parse(to_json(result))["pictures"]["heldout"]["observed"];
  std::vector<int> seen(5);
  for (const json& value : points) ++seen[value.get<std::size_t>()];
  for (const int count : seen) EXPECT_EQ(count, 100);
}

TEST(ReportJson, ReplacesBytesThatAreNotUtf8) {
  Result result = example(2, 2, 1);
  result.certificate.files = {{"inputs", "caf\xe9.npy"}};
  EXPECT_NO_THROW((void)to_html(to_json(result)));
}

TEST(ReportHtml, IsWellFormedWithoutScriptsOrRequests) {
  for (const Index m : {1, 3}) {
    const std::string page = to_html(to_json(example(4, 30, m)));
    EXPECT_TRUE(well_formed(page));
    for (const char* forbidden : {"<script", "src=", "@import", "url(", "NaN", "inf\""}) {
      EXPECT_EQ(page.find(forbidden), std::string::npos) << forbidden;
    }
    // Links lead to the files beside the page and nowhere else.
    for (std::size_t at = page.find("href="); at != std::string::npos; at = page.find("href=", at + 1))
      EXPECT_EQ(page.substr(at, 8), "href=\"./");
    EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_NE(page.find("noise floor"), std::string::npos);
  }
}

TEST(ReportHtml, DrawsTheIntervalsOfAnEstimatedDeepNetwork) {
  Result result;
  result.certificate.status = Status::kEstimated;
  result.certificate.input_names = {"age", "size", "cost"};
  result.network.layers = {{Matrix::Random(9, 3), Vector::Random(9), {}},
                           {Matrix::Random(2, 9), Vector::Random(2), {}},
                           {Matrix::Random(1, 2), Vector::Random(1), {}}};
  result.errors.standard_errors = result.network;
  for (Layer& layer : result.errors.standard_errors.layers) {
    layer.W.setConstant(0.01);
    layer.b.setConstant(0.02);
  }
  const std::string page = to_html(to_json(result));
  EXPECT_TRUE(well_formed(page));
  // The nine biases have the largest errors of the 36, then come 15 weights in order.
  EXPECT_NE(page.find("Layer 1: the 24 least certain of 36"), std::string::npos);
  EXPECT_NE(page.find("Layer 2: all 20"), std::string::npos);
  EXPECT_NE(page.find("Outputs: all 3"), std::string::npos);
  for (const char* name : {"unit 1, age", "unit 9, bias", "unit 2, unit 9 below", "output 1, constant"})
    EXPECT_NE(page.find(name), std::string::npos) << name;
  result.certificate.status = Status::kUncertified;
  EXPECT_EQ(to_html(to_json(result)).find("Weights with intervals"), std::string::npos);
}

TEST(ReportHtml, ShowsAScriptTagAsText) {
  Result result = example(2, 2, 1);
  const std::string attack = "<script>alert('x')</script>\"&";
  result.certificate.route = result.certificate.reason = attack;
  result.certificate.assumptions[0].name = result.certificate.tried[0].route =
      result.certificate.tried[0].outcome = attack;
  result.certificate.timings[0].stage = result.diagnostics.descent[0].stage = attack;
  result.certificate.files = result.certificate.written = {{attack, attack}};
  result.certificate.command = result.certificate.host = attack;
  const std::string page = to_html(to_json(result));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_TRUE(well_formed(page));
}

TEST(ReportHtml, LinksOnlyToPlainNames) {
  Result result = example(2, 2, 1);
  result.certificate.written = {{"network", "network.safetensors"},
                                {"evil", "javascript:alert(1)"},
                                {"evil", "../secret"},
                                {"evil", "//host/x"},
                                {"evil", ".."},
                                {"evil", "a b"},
                                {"evil", "x\"y"}};
  const std::string page = to_html(to_json(result));
  EXPECT_TRUE(well_formed(page));
  EXPECT_NE(page.find("<a href=\"./network.safetensors\">"), std::string::npos);
  for (const char* bad :
       {"href=\"./javascript", "href=\"./..", "href=\"./a b", "href=\"javascript", "href=\"./x"})
    EXPECT_EQ(page.find(bad), std::string::npos) << bad;
}

TEST(ReportHtml, LinesThatLoadTheNetwork) {
  Result result = example(2, 2, 1);
  result.certificate.written = {{"network", "network.safetensors"},
                                {"network for other programs", "network.onnx"}};
  const std::string page = to_html(to_json(result));
  EXPECT_NE(
      page.find(
          "import exhume\nnetwork = exhume.Network.load(&quot;network.safetensors&quot;)\ny = network(x)"),
      std::string::npos);
  EXPECT_NE(page.find("exhume::open_network(&quot;network.safetensors&quot;);"), std::string::npos);
  EXPECT_NE(page.find("onnxruntime.InferenceSession(&quot;network.onnx&quot;)"), std::string::npos);
  result.certificate.written = {{"network", "rectified.safetensors"}};
  EXPECT_EQ(to_html(to_json(result)).find("onnxruntime"), std::string::npos);
  result.certificate.status = Status::kRefused;
  EXPECT_EQ(to_html(to_json(result)).find("Use it"), std::string::npos);
}

TEST(ReportHtml, SaysFirstWhatFailedAndWhatToDo) {
  Result result = example(3, 3, 1);
  result.certificate.status = Status::kUncertified;
  result.certificate.assumptions = {{"samples for every unknown", 3, 12, false, true},
                                    {"inputs are Gaussian", 5, 1, false, false},
                                    {"no linear term needed", 0, 0, true, true}};
  const std::string page = to_html(to_json(result));
  const std::size_t section = page.find("What failed, and what to do next");
  ASSERT_NE(section, std::string::npos);
  EXPECT_LT(section, page.find("<dl class=\"facts\">"));
  EXPECT_LT(section, page.find("<svg"));
  const std::string said = page.substr(section, page.find("</section>", section) - section);
  EXPECT_NE(said.find("samples for every unknown"), std::string::npos);
  EXPECT_NE(said.find("Give more rows"), std::string::npos);
  EXPECT_EQ(said.find("Gaussian"), std::string::npos);     // not required
  EXPECT_EQ(said.find("linear term"), std::string::npos);  // holds
  EXPECT_EQ(to_html(to_json(example(3, 3, 1))).find("What failed"), std::string::npos);
}

// What a command would say of a result: its kind, what was asked for, and the checks that failed.
std::vector<std::string> steps_of(const char* kind, const std::vector<std::string>& failed,
                                  const Json& options = Json::object(), const char* status = "uncertified",
                                  const char* reason = "") {
  Json certificate = {{"status", status},
                      {"kind", kind},
                      {"reason", reason},
                      {"options", options},
                      {"outputs", 1},
                      {"hidden_units", 3},
                      {"assumptions", Json::array()}};
  for (const std::string& name : failed)
    certificate["assumptions"].push_back({{"name", name}, {"required", true}, {"holds", false}});
  return next_steps(certificate);
}

TEST(Report, NextStepsForEveryCheck) {
  EXPECT_TRUE(steps_of("network", {"samples for every unknown"}, {}, "certified").empty());
  EXPECT_TRUE(steps_of("network", {}, {}, "estimated").empty());
  // The same advice once, and inspect.
  EXPECT_EQ(steps_of("network", {"rows held out", "samples for every unknown"}).size(), 2u);
  EXPECT_EQ(steps_of("network", {}, {}, "refused").size(), 1u);
  EXPECT_EQ(steps_of("network", {"a check of tomorrow"}).size(), 1u);
}

bool says(const std::vector<std::string>& steps, const char* words) {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const std::string& step) { return step.find(words) != std::string::npos; });
}

TEST(Report, NextStepsNameOnlyOptionsThatTheCommandHas) {
  for (const char* kind : {"lowest layer", "halfspaces", "memorized network"}) {
    for (const char* check : {"search finished within its budget", "the samples are enough", "labels met",
                              "the set agrees with held-out labels", "a unit was found: number of them"}) {
      const auto steps = steps_of(kind, {check});
      EXPECT_FALSE(steps.empty()) << kind << ": " << check;
      EXPECT_FALSE(says(steps, "budget")) << kind << ": " << check;
      EXPECT_FALSE(says(steps, "inspect")) << kind << ": " << check;  // it is about recover
    }
  }
  // An extraction reads no rows.
  EXPECT_FALSE(says(steps_of("extracted network", {"weights of layer 2 determined"}), "rows"));
}

TEST(Report, NextStepsNameOnlyRoutesThatApply) {
  const auto outliers = [](int outputs, const char* route) {
    Json certificate = {{"status", "uncertified"},
                        {"kind", "network"},
                        {"outputs", outputs},
                        {"hidden_units", 3},
                        {"options", {{"route", route}}}};
    certificate["assumptions"] = {
        {{"name", "residual without heavy tails: kurtosis"}, {"required", true}, {"holds", false}}};
    return says(next_steps(certificate), "rectified-sparse-noise");
  };
  EXPECT_FALSE(outliers(1, "auto"));  // it needs as many outputs as units
  EXPECT_TRUE(outliers(3, "auto"));
  EXPECT_FALSE(outliers(3, "rectified-sparse-noise"));
}

TEST(Report, NextStepsAreNotWhatWasDone) {
  const char* structure = "no structure left in the residual";
  EXPECT_TRUE(says(steps_of("network", {structure}, {{"layers", "1"}}), "several hidden layers"));
  EXPECT_FALSE(says(steps_of("network", {structure}, {{"layers", "auto"}}), "several hidden layers"));
  EXPECT_FALSE(says(steps_of("deep network", {structure}, {{"layers", "2"}}), "several hidden layers"));
  const char* late = "search finished within its budget";
  EXPECT_TRUE(says(steps_of("network", {late}, {{"hidden", "auto"}}), "number of hidden units"));
  EXPECT_FALSE(says(steps_of("network", {late}, {{"hidden", "8"}}), "number of hidden units"));
}

TEST(Report, ARefusalsCardIsNeverEmpty) {
  for (const char* kind :
       {"network", "deep network", "extracted network", "lowest layer", "halfspaces", "memorized network"}) {
    for (const char* reason : {"the limit of 200 queries was reached", "the oracle drifts", ""}) {
      EXPECT_FALSE(steps_of(kind, {}, {}, "refused", reason).empty()) << kind << ": " << reason;
      const std::string page =
          to_html(Json({{"status", "refused"}, {"kind", kind}, {"reason", reason}}).dump());
      EXPECT_NE(page.find("What to do next"), std::string::npos) << kind;
      EXPECT_EQ(page.find("<ol>\n</ol>"), std::string::npos) << kind;
    }
  }
}

TEST(ReportHtml, NumbersInOneNotation) {
  Result result = example(2, 2, 1);
  result.certificate.reason =
      "2 units reproduce all 20000 samples to 1.4e-15, see run-1e-5.csv, 3.2e+03 s, v1.2e3x, 1e999999; from "
      "-0.611 to (-1, -2e-9), x-0.npy, 10-8-2";
  const std::string page = to_html(to_json(result));
  EXPECT_NE(page.find("20,000 samples"), std::string::npos);
  EXPECT_NE(page.find("<span class=\"nowrap\">1.4 × 10<sup>−15</sup></span>"), std::string::npos);
  EXPECT_NE(page.find("run-1e-5.csv"), std::string::npos);
  EXPECT_NE(page.find("3200 s"), std::string::npos);
  EXPECT_NE(page.find("v1.2e3x"), std::string::npos);
  EXPECT_NE(page.find("1e999999"), std::string::npos);
  EXPECT_EQ(page.find("1.4e-15"), std::string::npos);
  EXPECT_NE(
      page.find("from −0.611 to (−1, −<span class=\"nowrap\">2 × 10<sup>−9</sup></span>), x-0.npy, 10-8-2"),
      std::string::npos);
  EXPECT_TRUE(well_formed(page));
}

TEST(ReportHtml, WhatFailedHasNoColumnsWithoutNumbers) {
  Result result = example(2, 2, 1);
  result.certificate.status = Status::kUncertified;
  result.certificate.assumptions = {{"search finished within its budget", kInfinity, kInfinity, false, true}};
  result.errors.noise_sd = 0.5;
  result.diagnostics.singular_values = Vector::Ones(1);
  const std::string page = to_html(to_json(result));
  EXPECT_TRUE(well_formed(page));
  EXPECT_NE(page.find("<tr><th>Failed</th></tr>"), std::string::npos);
  // What a test has found not to be noise is not called so, and one value has no gap.
  EXPECT_NE(page.find("Residual, standard deviation"), std::string::npos);
  EXPECT_EQ(page.find("Singular values and the gap"), std::string::npos);
  result.certificate.assumptions[0].value = 2;
  EXPECT_NE(to_html(to_json(result)).find("<th>Failed</th><th class=\"number\">Value</th>"),
            std::string::npos);
}

TEST(ReportHtml, CountsThatWereCappedSaySo) {
  Result result = example(5, 300, 40);
  result.diagnostics.singular_values = Vector::LinSpaced(1000, 10, 1);
  result.diagnostics.observed = result.diagnostics.predicted = RowMatrix::Ones(500, 40);
  result.certificate.held_out = 500;
  for (int i = 0; i < 5000; ++i) result.diagnostics.descent.push_back({"signed", 20 + i, 0.5});
  const std::string page = to_html(to_json(result));
  EXPECT_NE(page.find("The largest 400 of 1,000"), std::string::npos);
  EXPECT_NE(page.find("500 of 20,000 values"), std::string::npos);
  EXPECT_NE(page.find("of 5,020 steps are shown"), std::string::npos);
  EXPECT_NE(page.find("The first 256 of 300"), std::string::npos);
}

TEST(ReportHtml, ADescentThatBeganAtItsEndIsSaidInWords) {
  Result result = example(2, 2, 1);
  result.diagnostics.descent = {{"sign-free", 0, 7e-31}, {"signed", 1, 6e-31}};
  const std::string page = to_html(to_json(result));
  EXPECT_NE(page.find("The start was already the network"), std::string::npos);
  EXPECT_EQ(page.find("aria-label=\"Relative mean squared residual"), std::string::npos);
  result.diagnostics.descent[0].relative_mse = 1e-3;
  EXPECT_NE(to_html(to_json(result)).find("aria-label=\"Relative mean squared residual"), std::string::npos);
}

TEST(ReportHtml, UnitsAsImagesWhereTheInputsAreASquareOrHaveAShape) {
  const auto images = [](const Result& result) {
    return json::parse(to_json(result))["pictures"].value("images", json());
  };
  EXPECT_TRUE(images(example(9, 3, 1)).is_null());  // 3 x 3 is a table
  EXPECT_EQ(images(example(16, 3, 1))["rows"], 4);
  EXPECT_EQ(images(example(16, 3, 1))["units"].size(), 3u);
  Result named = example(16, 3, 1);
  named.certificate.input_names.assign(16, "a");
  EXPECT_TRUE(images(named).is_null());
  Result shaped = example(6, 40, 1);
  shaped.certificate.input_shape = {2, 3};
  EXPECT_EQ(images(shaped)["units"].size(), 16u);
  EXPECT_NE(to_html(to_json(shaped)).find("The first 16 of 40 units"), std::string::npos);
  shaped.certificate.input_shape = {4, 4};  // does not fit
  EXPECT_TRUE(images(shaped).is_null());
  shaped.certificate.input_shape = {Index{1} << 62, 4};
  EXPECT_TRUE(images(shaped).is_null());
}

TEST(ReportHtml, IntervalsOfAnEstimate) {
  Result result = example(3, 12, 2);
  result.certificate.status = Status::kEstimated;
  result.errors.noise_sd = 0.1;
  result.errors.standard_errors = result.network;
  for (Matrix* part : {&result.errors.standard_errors.W(), &result.errors.standard_errors.A()})
    part->setConstant(0.01);
  result.errors.standard_errors.b().setConstant(0.5);
  result.errors.standard_errors.c().setConstant(0.02);
  result.certificate.input_names = {"age", "b", "c"};
  const json intervals = json::parse(to_json(result))["pictures"]["intervals"];
  EXPECT_EQ(intervals["weights"].size(), 62u);  // 24 of 36 weights, 12 biases, 24 output weights, 2 constants
  const std::string page = to_html(to_json(result));
  EXPECT_TRUE(well_formed(page));
  EXPECT_NE(page.find("the 24 least certain of 36"), std::string::npos);
  EXPECT_NE(page.find("unit 12, bias"), std::string::npos);
  EXPECT_NE(page.find("unit 1, age"), std::string::npos);
  result.certificate.status = Status::kCertified;
  EXPECT_FALSE(json::parse(to_json(result))["pictures"].contains("intervals"));
}

TEST(ReportHtml, RowsAlongEachUnit) {
  Result result = example(3, 20, 2);
  EXPECT_EQ(to_html(to_json(result)).find("Along each unit"), std::string::npos);
  result.certificate.output_names = {"<b>", "dose"};
  const Vector at = Vector::LinSpaced(9, -2, 2), own = at.cwiseMax(0);
  for (Index unit = 0; unit < 12; ++unit)
    result.diagnostics.profiles.push_back(
        {.unit = unit, .output = unit % 2, .at = at, .mean = own, .own = own});
  const json profiles = json::parse(to_json(result))["pictures"]["profiles"];
  ASSERT_EQ(profiles.size(), 12u);
  EXPECT_EQ(profiles[1]["output"], 2);
  EXPECT_EQ(profiles[1]["mean"].size(), 9u);
  const std::string page = to_html(to_json(result));
  EXPECT_TRUE(well_formed(page));
  EXPECT_NE(page.find("Unit 12, dose"), std::string::npos);
  EXPECT_NE(page.find("Unit 1, &lt;b&gt;"), std::string::npos);
  EXPECT_NE(page.find("The first 12 of 20 units."), std::string::npos);
}

TEST(ReportHtml, TrueAgainstRecovered) {
  Result result = example(4, 5, 2);
  const Document plain = make_document(result);
  const auto with_truth = [&](const StoredModel& found, const StoredModel& truth, const char* path) {
    Document document = plain;
    add_truth(document, found, truth, {"truth", path, "00"});
    EXPECT_TRUE(read_document(to_text(document)).sealed);
    return document;
  };
  Network other = result.network;
  other.W().row(0) *= 2;  // the same function
  other.b()(0) *= 2;
  other.A().col(0) /= 2;
  const Document same = with_truth(result.network, other, "<true>.safetensors");
  const json stated = json::parse(to_text(same))["truth"];
  EXPECT_EQ(stated["comparable"], true);
  EXPECT_EQ(stated["parameters"], 4 * 5 + 5 + 5 * 2 + 2);
  EXPECT_LT(stated["worst_error"].get<double>(), 1e-14);
  const std::string page = to_html(same);
  EXPECT_TRUE(well_formed(page));
  EXPECT_NE(page.find("True against recovered"), std::string::npos);
  EXPECT_NE(page.find("&lt;true&gt;.safetensors"), std::string::npos);
  EXPECT_TRUE(truth_matches(same, result.network, other));
  EXPECT_TRUE(truth_matches(plain, result.network, other));
  other.b()(0) += 0.1;
  EXPECT_FALSE(truth_matches(same, result.network, other));

  const Network smaller = plant({.inputs = 4, .hidden = 3, .outputs = 2, .seed = 5});
  const Document unlike = with_truth(result.network, smaller, "t");
  EXPECT_EQ(unlike.json["truth"]["comparable"], false);
  EXPECT_NE(to_html(unlike).find("it is 4-3-2, this one 4-5-2"), std::string::npos);
}

TEST(Report, ShapesOfInputs) {
  EXPECT_EQ(parse_shape("8x9"), (std::vector<Index>{8, 9}));
  for (const char* bad :
       {"", "8", "x", "8x", "x8", "0x8", "-8x8", "8x8x8", "8 x 8", "8x8.", "99999999999999999999x1"})
    EXPECT_THROW((void)parse_shape(bad), std::invalid_argument) << bad;
  EXPECT_NO_THROW(check_shape({2, 3}, 6));
  EXPECT_THROW(check_shape({2, 3}, 7), std::invalid_argument);
  EXPECT_THROW(check_shape({Index{1} << 32, Index{1} << 32}, 0), std::invalid_argument);
}

TEST(Report, FilesOfAResult) {
  const auto names = [](const Result& result) {
    std::vector<std::string> list;
    for (const ResultFile& file : result_files(result)) list.push_back(file.name);
    return list;
  };
  using Names = std::vector<std::string>;
  Result result = example(3, 2, 2);
  EXPECT_EQ(names(result), (Names{"network.safetensors", "network.onnx"}));
  result.errors.standard_errors = result.network;
  EXPECT_EQ(names(result), (Names{"network.safetensors", "network.onnx"}));  // certified: none to state
  result.certificate.status = Status::kEstimated;
  EXPECT_EQ(names(result), (Names{"network.safetensors", "network.onnx", "errors.safetensors"}));
  result.activation = "square";
  result.support = {{3, 1}};
  EXPECT_EQ(names(result), (Names{"rectified.safetensors", "errors.safetensors", "support.csv"}));
  result.certificate.status = Status::kRefused;
  EXPECT_TRUE(names(result).empty());
}

TEST(ReportHtml, RefusalHasAPageToo) {
  Result result;
  result.certificate.status = Status::kRefused;
  result.certificate.reason = "Column 3 of x.npy is constant; remove it.";
  const std::string page = to_html(to_json(result));
  EXPECT_TRUE(well_formed(page));
  EXPECT_NE(page.find("Refused"), std::string::npos);
  EXPECT_NE(page.find("Column 3"), std::string::npos);
  EXPECT_TRUE(json::parse(to_json(result))["heldout_relative_mse"].is_null());
}

TEST(ReportHtml, LeavesOutWhatACertificateLacks) {
  EXPECT_TRUE(well_formed(to_html(R"({"status": "uncertified"})")));
  EXPECT_TRUE(
      well_formed(to_html(R"({"status": "certified", "pictures": {"weights": [[1], [], 3], "units": [7],
      "descent": [null], "singular_values": "x", "heldout": {"observed": [1], "predicted": []}},
      "timings": [1], "assumptions": [[]], "tried": {"a": 1}})")));
}

TEST(ReportHtml, RefusesWhatIsNoCertificate) {
  EXPECT_THROW((void)to_html("{"), DataError);
  EXPECT_THROW((void)to_html("[]"), DataError);
  EXPECT_THROW((void)to_html(R"({"status": "\"><script>"})"), DataError);
}

TEST(Report, VerdictInWords) {
  Result result = example(1, 1, 1);
  EXPECT_NE(verdict(result).find("1 input, 1 hidden unit, 1 output"), std::string::npos);
  result.certificate.status = Status::kEstimated;
  result.errors.noise_sd = 0.1;
  EXPECT_NE(verdict(result).find("If they come from such a network plus independent noise"),
            std::string::npos);
  result.certificate.status = Status::kUncertified;
  EXPECT_NE(verdict(result).find("not certified"), std::string::npos);
}

}  // namespace
}  // namespace exhume::report_test
