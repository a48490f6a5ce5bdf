#include "exhume/certify/certificate_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "exhume/base/error.h"
#include "exhume/certify/inspect.h"

namespace exhume {
namespace {

using Json = nlohmann::json;

// Mean squared error over the variance that two ways of adding up rounding errors may differ by.
constexpr double kRounding = 1e-24;
// What noiseless samples may differ from their network by (certify.h).
constexpr double kReproduced = 1e-20;

Json parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("status") || !json["status"].is_string())
    throw DataError("the certificate is not valid JSON or has no status; is it a certificate.json?");
  return json;
}

double number(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_number() ? json[key].get<double>() : std::nan("");
}

std::string words(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

class Check {
 public:
  Check(const std::string& text, const Network& network, const SamplePtr& samples, const Verification& whole,
        const Control& control)
      : text_(text),
        json_(parse(text)),
        network_(network),
        samples_(samples),
        whole_(whole),
        control_(control) {}

  std::vector<Finding> run() {
    const bool intact = digest_matches(text_);
    find("certificate", intact,
         intact ? "its digest is that of its content"
                : "its digest is not that of its content: it was edited");
    shapes();
    status();
    rows();
    return std::move(findings_);
  }

 private:
  void find(std::string part, bool good, std::string what) {
    findings_.push_back({std::move(part), good, std::move(what)});
  }

  void shapes() {
    const bool same = number(json_, "inputs") == static_cast<double>(network_.inputs()) &&
                      number(json_, "hidden_units") == static_cast<double>(network_.hidden()) &&
                      number(json_, "outputs") == static_cast<double>(network_.outputs());
    find("network", same,
         same ? fmt::format("{} inputs, {} hidden units and {} outputs, as stated", network_.inputs(),
                            network_.hidden(), network_.outputs())
              : "its shape is not the one that the certificate states");
    const double stated = number(json_, "rows");
    if (std::isnan(stated)) return;
    const bool count = stated == static_cast<double>(samples_->rows());
    find("samples", count,
         count ? fmt::format("{} rows, as stated", samples_->rows())
               : fmt::format("{} rows, but the certificate states {:.0f}", samples_->rows(), stated));
  }

  // A certificate claims that all it requires holds.
  void status() {
    const std::string status = words(json_, "status");
    std::string broken;
    if (json_.contains("assumptions") && json_["assumptions"].is_array()) {
      for (const Json& a : json_["assumptions"]) {
        if (!a.is_object() || !a.contains("required") || a["required"] != true) continue;
        if (a.value("holds", false) || !broken.empty()) continue;
        broken = words(a, "name");
      }
    }
    if (status == "certified") {
      find("certificate", broken.empty(),
           broken.empty() ? "all that it requires is stated to hold"
                          : fmt::format("it says certified, but '{}' does not hold", broken));
    }
    // Without noise the samples are the network's to rounding, every one of them.
    if (status == "certified" && number(json_, "noise_sd") == 0 && json_.contains("split")) {
      const bool exact = whole_.relative_mse <= kReproduced;
      find("samples", exact,
           exact
               ? fmt::format("reproduced to rounding: relative mse {:.1e} over all rows", whole_.relative_mse)
               : fmt::format("relative mse {:.1e} over all rows, worst in row {}: not those of this network",
                             whole_.relative_mse, whole_.worst_row + 1));
    }
  }

  void rows() {
    const double stated = number(json_, "heldout_mean_square"), used = number(json_, "samples");
    if (!json_.contains("split") || !json_["split"].is_object() || std::isnan(stated)) {
      find(
          "held-out rows", true,
          "none are stated as the files have them (too few rows, or outputs that were cleaned first): errors "
          "were not checked again");
      return;
    }
    const double period = number(json_["split"], "period");
    if (!(period >= 2 && period <= 1e9) || !json_["split"].contains("seed") ||
        !json_["split"]["seed"].is_number_unsigned()) {
      find("certificate", false, "its split is not one");
      return;
    }
    SamplePtr distinct = samples_;
    if (used < static_cast<double>(samples_->rows())) distinct = distinct_rows(samples_, control_);
    const Split parts =
        split(distinct, static_cast<Index>(period), json_["split"]["seed"].get<std::uint64_t>());
    if (static_cast<double>(parts.held_out->rows()) != number(json_, "held_out")) {
      find("certificate", false,
           fmt::format("its split holds out {} rows, not as many as it states", parts.held_out->rows()));
      return;
    }
    const Verification held_out = verify(network_, *parts.held_out, control_);
    const double found = held_out.rms_error * held_out.rms_error * static_cast<double>(network_.outputs());
    const double variance = held_out.relative_mse > 0 ? found / held_out.relative_mse : 0;
    const bool same = std::abs(found - stated) <= 1e-6 * std::max(found, stated) + kRounding * variance;
    find("held-out rows", same,
         same ? fmt::format("mean squared error {:.3e} on {} rows, as stated", found, held_out.rows)
              : fmt::format("mean squared error {:.3e} on {} rows, but the certificate states {:.3e}", found,
                            held_out.rows, stated));
  }

  const std::string& text_;
  Json json_;
  const Network& network_;
  const SamplePtr& samples_;
  const Verification& whole_;
  const Control& control_;
  std::vector<Finding> findings_;
};

}  // namespace

CertifiedFiles certified_files(const std::string& text) {
  const Json json = parse(text);
  CertifiedFiles files;
  files.network_sha256 = words(json, "network_sha256");
  if (json.contains("files") && json["files"].is_array()) {
    for (const Json& file : json["files"]) {
      if (file.is_object())
        files.samples.push_back({words(file, "role"), words(file, "path"), words(file, "sha256")});
    }
  }
  return files;
}

std::vector<Finding> check_certificate(const std::string& json, const Network& network,
                                       const SamplePtr& samples, const Verification& whole,
                                       const Control& control) {
  return Check(json, network, samples, whole, control).run();
}

}  // namespace exhume
