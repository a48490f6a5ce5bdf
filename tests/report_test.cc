#include "exhume/report/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "exhume/base/error.h"
#include "exhume/base/random.h"
#include "exhume/data/planted.h"
#include "well_formed.h"

namespace exhume {
namespace {

using nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RecoverResult example(Index d, Index k, Index m) {
  RecoverResult result;
  result.status = Status::kCertified;
  result.reason = "The residual on the held-out rows is at rounding level.";
  result.route = "depth2";
  result.network = canonical(plant({.inputs = d, .hidden = k, .outputs = m, .seed = 3}));
  result.samples = 3000;
  result.held_out = 150;
  result.heldout_relative_mse = 3.1e-31;
  result.training_relative_mse = 2.9e-31;
  result.assumptions = {{"inputs are Gaussian", 1.02, 3.3, true}, {"rows are distinct", 4, 0, false}};
  result.tried = {{"depth2", "certified"}};
  result.timings = {{"moments", 0.25}, {"polish", 0.5}, {"moments", 0.25}};
  result.seed = 18446744073709551615u;
  result.singular_values = Vector::LinSpaced(k + 5, 0, 1).array().exp().reverse();
  result.noise_floor = 1.2;
  result.gap_units = k;
  for (int i = 0; i < 20; ++i)
    result.descent.push_back({i < 12 ? "sign-free" : "signed", i, std::pow(10, -1.5 * i)});
  result.observed = Stream(1, "observed").normal_matrix(100, m);
  result.predicted = result.observed;
  return result;
}

TEST(ReportJson, HasTheStableKeys) {
  const json out = json::parse(to_json([] {
    RecoverResult result = example(4, 6, 3);
    result.files = {{"inputs", "x.npy"}};
    result.command = "exhume recover x.npy y.npy";
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
  RecoverResult result = example(2, 2, 1);
  result.heldout_relative_mse = kInfinity;
  result.functional_error_bound = std::nan("");
  result.assumptions[0].value = -kInfinity;
  result.singular_values(0) = std::nan("");
  result.descent[1].relative_mse = kInfinity;
  const json out = json::parse(to_json(result));
  EXPECT_TRUE(out["heldout_relative_mse"].is_null());
  EXPECT_TRUE(out["functional_error_bound"].is_null());
  EXPECT_TRUE(out["assumptions"][0]["value"].is_null());
  EXPECT_TRUE(out["pictures"]["singular_values"][0].is_null());
  EXPECT_TRUE(out["pictures"]["descent"][1]["relative_mse"].is_null());
  EXPECT_TRUE(well_formed(to_html(to_json(result))));
}

TEST(ReportJson, KeepsPicturesSmall) {
  RecoverResult result = example(300, 200, 40);
  result.observed = RowMatrix::Ones(500, 40);
  result.predicted = RowMatrix::Ones(500, 40);
  result.descent.assign(5000, {"signed", 1, 0.5});
  const std::string text = to_json(result);
  EXPECT_LT(text.size(), 600000u);
  const json pictures = json::parse(text)["pictures"];
  EXPECT_EQ(pictures["heldout"]["observed"].size(), 500u);
  EXPECT_LE(pictures["weights"].size(), 64u);
  EXPECT_LE(pictures["descent"].size(), 402u);
}

TEST(ReportJson, ScatterShowsEveryOutput) {
  RecoverResult result = example(3, 3, 5);
  result.observed.resize(500, 5);
  for (Index j = 0; j < 5; ++j) result.observed.col(j).setConstant(static_cast<double>(j));
  result.predicted = result.observed;
  const json points = json::parse(to_json(result))["pictures"]["heldout"]["observed"];
  std::vector<int> seen(5);
  for (const json& value : points) ++seen[value.get<std::size_t>()];
  for (const int count : seen) EXPECT_EQ(count, 100);
}

TEST(ReportJson, ReplacesBytesThatAreNotUtf8) {
  RecoverResult result = example(2, 2, 1);
  result.files = {{"inputs", "caf\xe9.npy"}};
  EXPECT_NO_THROW((void)to_html(to_json(result)));
}

TEST(ReportHtml, IsWellFormedWithoutScriptsOrRequests) {
  for (const Index m : {1, 3}) {
    const std::string page = to_html(to_json(example(4, 30, m)));
    EXPECT_TRUE(well_formed(page));
    for (const char* forbidden : {"<script", "src=", "href=", "@import", "url(", "NaN", "inf\""}) {
      EXPECT_EQ(page.find(forbidden), std::string::npos) << forbidden;
    }
    EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_NE(page.find("noise floor"), std::string::npos);
  }
}

TEST(ReportHtml, ShowsAScriptTagAsText) {
  RecoverResult result = example(2, 2, 1);
  const std::string attack = "<script>alert('x')</script>\"&";
  result.route = result.reason = attack;
  result.assumptions[0].name = result.tried[0].route = result.tried[0].outcome = attack;
  result.timings[0].stage = result.descent[0].stage = attack;
  result.files = result.written = {{attack, attack}};
  result.command = result.host = attack;
  const std::string page = to_html(to_json(result));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_TRUE(well_formed(page));
}

TEST(ReportHtml, RefusalHasAPageToo) {
  RecoverResult result;
  result.status = Status::kRefused;
  result.reason = "Column 3 of x.npy is constant; remove it.";
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
      "descent": [null], "singular_values": "x", "heldout": {"observed": [1], "predicted": []}}, "timings": [1],
      "assumptions": [[]], "tried": {"a": 1}})")));
}

TEST(ReportHtml, RefusesWhatIsNoCertificate) {
  EXPECT_THROW((void)to_html("{"), DataError);
  EXPECT_THROW((void)to_html("[]"), DataError);
  EXPECT_THROW((void)to_html(R"({"status": "\"><script>"})"), DataError);
}

TEST(Report, VerdictIsOneSentence) {
  RecoverResult result = example(1, 1, 1);
  EXPECT_NE(verdict(result).find("1 input, 1 hidden unit, 1 output"), std::string::npos);
  result.status = Status::kEstimated;
  result.noise_sd = 0.1;
  EXPECT_NE(verdict(result).find("if they are those of such a network plus independent noise"),
            std::string::npos);
  result.status = Status::kUncertified;
  EXPECT_NE(verdict(result).find("not certified"), std::string::npos);
}

}  // namespace
}  // namespace exhume
