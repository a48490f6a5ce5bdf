// What a result claims, and whether the claim can be checked again.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "certify/certificate_check.h"
#include "certify/certify.h"
#include "data/planted.h"
#include "exhume/error.h"
#include "exhume/recover.h"
#include "io/digest.h"
#include "report/report.h"

namespace exhume::certificate_test {
namespace {

TEST(Digest, KnownValues) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, OfACertificateSurvivesReadingAndNotEditing) {
  const Network network = plant({.inputs = 4, .hidden = 3, .outputs = 3, .seed = 3});
  Result result = recover(planted_samples(network, {.samples = 2000, .seed = 3}), {});
  result.certificate.command = "not \xff UTF-8";
  const std::string json = to_json(result);
  EXPECT_TRUE(read_document(json).sealed);
  EXPECT_EQ(to_html(json), to_html(make_document(result)));
  EXPECT_TRUE(
      read_document(nlohmann::ordered_json::parse(json).dump()).sealed);  // the layout does not matter
  auto edited = nlohmann::ordered_json::parse(json);
  edited["hidden_units"] = 4;
  EXPECT_FALSE(read_document(edited.dump(2)).sealed);
  EXPECT_FALSE(read_document(R"({"status": "certified"})").sealed);
  EXPECT_THROW((void)read_document("{}"), DataError);
}

TEST(CertificateCheck, DrawsTheHeldOutRowsAgain) {
  for (const double noise : {0.0, 0.1}) {
    const Network network = plant({.inputs = 5, .hidden = 4, .outputs = 2, .seed = 8});
    const SamplePtr samples =
        load(*planted_samples(network, {.samples = 8000, .noise_relative = noise, .seed = 8}));
    const Result result = recover(samples, {});
    ASSERT_EQ(result.certificate.status, noise > 0 ? Status::kEstimated : Status::kCertified)
        << result.certificate.reason;
    const std::string json = to_json(result);
    const auto bad = [&](const std::string& text, const Network& checked) {
      std::vector<std::string> parts;
      for (const Finding& f : check_certificate(read_document(text), checked, samples).findings)
        if (f.bad()) parts.push_back(f.part);
      return parts;
    };
    EXPECT_TRUE(bad(json, result.network).empty());
    Network other = result.network;
    other.A()(0, 1) *= 1.001;
    EXPECT_FALSE(bad(json, other).empty());
    auto edited = nlohmann::ordered_json::parse(json);
    edited["heldout_mean_square"] = edited["heldout_mean_square"].get<double>() * 1.1 + 1e-12;
    const std::vector<std::string> parts = bad(edited.dump(2), result.network);
    EXPECT_NE(std::find(parts.begin(), parts.end(), "certificate"), parts.end());
    EXPECT_NE(std::find(parts.begin(), parts.end(), "held-out rows"), parts.end());
  }
}

TEST(Bounds, FittedNoiseCoversTheTailOfChiSquared) {
  // P(chi^2_p > p + 2 sqrt(p x) + 2 x) <= exp(-x) with x = log 1000: at most 1 in 1,000.
  const Index runs = 20000;
  for (const Index p : {1, 10, 100}) {
    const double bound = bound_fitted_noise(static_cast<double>(p), 1, 0, 1);
    RowMatrix z(runs, p);
    Stream(4, "chi").fill_normal(0, z);
    EXPECT_LE((z.rowwise().squaredNorm().array() > bound).count(), 2 * runs / 1000) << p;
  }
}

TEST(Bounds, DeltaBoundsWhatASmallChangeOfTheFunctionDoesToTheWeights) {
  const Network network = plant({.inputs = 5, .hidden = 4, .outputs = 2, .seed = 5});
  const SamplePtr samples = load(*planted_samples(network, {.samples = 4000, .seed = 5}));
  const Result result = recover(samples, {});
  ASSERT_TRUE(result.errors.identifiability.has_value());
  EXPECT_GT(result.errors.identifiability->smallest_singular, 1e-3);
  const double factor = result.errors.identifiability->delta / result.errors.identifiability->epsilon;
  // Moved weights, and how far the function moves: delta / epsilon must be no less than their ratio.
  for (std::uint64_t s = 1; s <= 20; ++s) {
    Network moved = result.network;
    moved.W() += 1e-5 * Stream(s, "W").normal_matrix(4, 5);
    moved.b() += 1e-5 * Stream(s, "b").normal_matrix(4, 1).col(0);
    moved.A() += 1e-5 * Stream(s, "A").normal_matrix(2, 4);
    moved.W().rowwise().normalize();
    const double weights = align(moved, result.network).worst_error;
    const Verification v = verify(moved, *samples);
    EXPECT_LE(weights, 1.05 * factor * v.rms_error * std::sqrt(2.0)) << s;
  }
}

TEST(Recover, AUnitDoesNotComeOutAsTwo) {
  // Here the search ends with nine exact units of which two are a third of a degree apart, and no sample lies
  // between their kinks.
  const std::uint64_t seed = 107631;
  Network network;
  network.W() = Stream(seed, "W").normal_matrix(8, 8);
  network.W().rowwise().normalize();
  network.A().resize(3, 8);
  for (Index i = 0; i < network.A().size(); ++i) {
    const auto [size, sign] = Stream(seed, "A").uniforms(static_cast<std::uint64_t>(i), 0);
    network.A().data()[i] = (sign < 0.5 ? -1 : 1) * (0.5 + size);
  }
  network.c() = Stream(seed, "c").normal_matrix(3, 1).col(0);
  RowMatrix x(4000, 8);
  Stream(seed, "x").fill_normal(0, x);
  for (Index i = 0; i < x.rows(); ++i) x.row(i).array() += i % 2 == 0 ? 1.5 : -1.5;
  const Eigen::RowVectorXd mean = x.colwise().mean();
  const Matrix projected = (x.rowwise() - mean) * network.W().transpose();
  const Vector spread = (projected.colwise().squaredNorm() / 4000.0).cwiseSqrt();
  network.b() =
      Stream(seed, "b").uniform_vector(8, -0.8, 0.8).cwiseProduct(spread) - network.W() * mean.transpose();
  const RowMatrix y = evaluate(network, x);
  RecoverOptions options;
  options.seed = seed;
  const Result result = recover(memory_samples(x, y), options);
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_LT(align(result.network, network).worst_error, 1e-9);
}

TEST(Recover, MoreUnitsThanTheSamplesShowAreNotCertified) {
  const Network network = plant({.inputs = 6, .hidden = 4, .outputs = 1, .seed = 6});
  RecoverOptions options;
  options.widths = {5};
  const Result result = recover(planted_samples(network, {.samples = 4000, .seed = 6}), options);
  EXPECT_EQ(result.certificate.status, Status::kUncertified);
  EXPECT_NE(result.certificate.reason.find("4 of the 5"), std::string::npos) << result.certificate.reason;
}

}  // namespace
}  // namespace exhume::certificate_test
