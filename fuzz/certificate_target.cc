// certificate.json as `exhume verify` reads it (certify/certificate_json.h, certify/certificate_check.h), of
// every kind of result, beside models and samples that are always the same; and against a certificate of each
// kind (report/certificate_diff.h). What was edited never agrees.
#include "certify/certificate_check.h"

#include <iterator>
#include <string>
#include <vector>

#include "certify/certificate_json.h"
#include "exhume/samples.h"
#include "io/digest.h"
#include "report/certificate_diff.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

constexpr Index kRows = 60;

SamplePtr samples(const StoredModel& model) {
  RowMatrix x(kRows, 2), y(kRows, 1);
  for (Index i = 0; i < kRows; ++i) {
    x.row(i) << static_cast<double>(i % 7) - 3, static_cast<double>(i % 5) - 2;
    y(i, 0) = static_cast<double>(i % 2);
  }
  if (const auto* network = std::get_if<Network>(&model)) y = evaluate(*network, x);
  if (const auto* network = std::get_if<QuadraticNetwork>(&model)) y = evaluate(*network, x);
  return memory_samples(std::move(x), std::move(y));
}

Network small_network() {
  Network network;
  network.W() = Matrix{{1, 2}, {-1, 0.5}};
  network.b() = Vector{{0.25, 0}};
  network.A() = Matrix{{1, -2}};
  network.c() = Vector{{0.5}};
  return network;
}

Network deep_network() {
  Network network;
  network.layers = {{Matrix{{1, 2}, {-1, 0.5}}, Vector{{0.25, 0}}, {}},
                    {Matrix{{1, 1}, {-1, 2}}, Vector{{0, 1}}, {}},
                    {Matrix{{1, -2}}, Vector{{0.5}}, {}}};
  return network;
}

// The keys of every kind, as they would be made again.
Json made_again() {
  Certificate certificate;
  certificate.status = Status::kCertified;
  certificate.reason = "all 12 rows agree to 1e-15";
  certificate.assumptions = {
      {"every training entry reproduced to its stored precision", 1e-3, 1, true, true}};
  CertificateParts parts;
  parts.kind = "network";
  parts.verdict = "The network was recovered (2 inputs): 1.2e-31.";
  parts.own = {{"inputs", 2},
               {"hidden_units", Json::array({2, 3})},
               {"heldout_relative_mse", 1e-31},
               {"identifiability", {{"smallest_singular", 0.2}, {"epsilon", 1e-15}, {"delta", 1e-14}}},
               {"units", Json::array({{{"direction", {0.6, 0.8}}, {"rows", 7}}})},
               {"moves", Json::array({{{"move", "probe"}, {"why", "nothing is known"}}})}};
  parts.pictures = {{"heldout", {{"observed", {1, 2}}, {"predicted", {1, 2}}}}};
  parts.sections =
      Json::array({{{"kind", "facts"}, {"facts", Json::array({{"queries", "36,105 = 2^15.14"}})}}});
  return make_document(certificate, parts).json;
}

void certificate(std::string_view bytes) {
  const std::string text(bytes);
  Document document;
  if (!accepted([&] { document = read_document(text); })) return;
  (void)most_bytes(document);
  static const StoredModel models[] = {
      small_network(), StoredLayer{Matrix{{1, 2}, {-1, 0.5}}, Vector{{1, 2}}, "relu"}, deep_network(),
      RectifiedNetwork{small_network(), "square"},
      QuadraticNetwork{Matrix(), 1, Matrix{{1, 2}, {-1, 0.5}}, Matrix{{1, -1}}}};
  static const std::vector<SamplePtr> rows = [] {
    std::vector<SamplePtr> list;
    for (const StoredModel& model : models) list.push_back(samples(model));
    return list;
  }();
  for (std::size_t i = 0; i < std::size(models); ++i) {
    CertificateCheck check;
    if (!accepted([&] { check = check_certificate(document, models[i], rows[i]); })) continue;
    expect(!check.findings.empty(), "nothing was looked at");
    for (const Finding& finding : check.findings) expect(!finding.words.empty(), "a finding without words");
    expect(check.findings[0].bad() != document.sealed, "an edited certificate passes for intact");
  }
  static const Json again = made_again();
  DiffRules rules;
  for (const bool rounding : {false, true}) {
    rules.rounding = rules.same_version = rounding;
    for (const std::string& what : differences(document.json, again, rules))
      expect(!what.empty() && what.size() < 4096, "a difference without words");
  }
  const std::vector<std::string> own = differences(document.json, document.json, {});
  if (!own.empty()) finding("a certificate differs from itself: " + own.front());
}

const Registration registration("certificate", certificate);

}  // namespace
}  // namespace exhume::fuzz
