// certificate.json as `exhume verify` reads it (certify/certificate_json.h, certify/certificate_check.h),
// beside models and samples that are always the same. What was edited never agrees.
#include "certify/certificate_check.h"
#include "certify/certificate_json.h"
#include "exhume/samples.h"
#include "io/digest.h"
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

void certificate(std::string_view bytes) {
  const std::string text(bytes);
  Document document;
  if (!accepted([&] { document = read_document(text); })) return;
  (void)most_bytes(document);
  static const StoredModel models[] = {small_network(),
                                       StoredLayer{Matrix{{1, 2}, {-1, 0.5}}, Vector{{1, 2}}, "relu"}};
  static const SamplePtr rows[] = {samples(models[0]), samples(models[1])};
  for (int i = 0; i < 2; ++i) {
    CertificateCheck check;
    if (!accepted([&] { check = check_certificate(document, models[i], rows[i]); })) continue;
    expect(!check.findings.empty(), "nothing was looked at");
    for (const Finding& finding : check.findings) expect(!finding.words.empty(), "a finding without words");
    expect(check.findings[0].bad() != document.sealed, "an edited certificate passes for intact");
  }
}

const Registration registration("certificate", certificate);

}  // namespace
}  // namespace exhume::fuzz
