// Algorithms 1 to 4 of paper symmetric, and ours: exact on exact moments, close on samples, clear where they
// do not apply.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <Eigen/QR>

#include "data/planted.h"
#include "data/views.h"
#include "decompose/span_vectors.h"
#include "linalg/symmetric_matrix.h"
#include "model/activation.h"
#include "refusal.h"
#include "routes/symmetric.h"
#include "symmetric_population.h"

namespace exhume::symmetric_algorithms_test {
namespace {

using testing::repeated;
using testing::symmetric_population;

constexpr double kExact = 1e-10;
constexpr SpanMethod kMethods[] = {SpanMethod::kRandomPair, SpanMethod::kAls,
                                   SpanMethod::kJointDiagonalisation, SpanMethod::kPower};

double worst(const Network& truth, const Network& found) {
  return align(canonical(truth), canonical(found)).worst_error;
}

TEST(Activation, LeakyIsTheLargerOfTheTwoLines) {
  Matrix Z(5, 2), values(5, 2), slopes(5, 2);
  Z << -2, 3, 0, -0.5, 1, 2, -1, 4, 8, -16;
  activate_leaky(0.25, Z, values, slopes);
  EXPECT_EQ(values, Matrix(Z.cwiseMax(0.25 * Z)));
  for (Index i = 0; i < Z.size(); ++i) EXPECT_EQ(slopes(i), Z(i) > 0 ? 1.0 : 0.25);
}

TEST(Symmetric, Algorithm1RecoversASingleUnit) {
  for (const double leak : {0.0, 0.2}) {
    // One unit an output, with its scale: A = I.
    auto population = symmetric_population(4, 3, 3, 30, 0, 0, 31);
    const RowMatrix points = testing::symmetric_points(4, 30, 31);
    const Matrix W = 1.7 * population.network.W(), z = points * W.transpose();
    const SamplePtr samples = memory_samples(points, z.array().max(leak * z.array()).matrix());
    EXPECT_LE((single_layer(*samples, leak, {}) - W).cwiseAbs().maxCoeff(), kExact) << leak;
  }
}

TEST(Symmetric, SpanMethodsFindTheVectorsOfAnExactSpan) {
  for (const Index k : {2, 5, 8}) {
    Matrix Z = Stream(3, "Z").normal_matrix(k, k);
    Z.colwise().normalize();
    const Eigen::HouseholderQR<Matrix> qr(rank_one_coordinates(Z));
    const Matrix basis = qr.householderQ() * Matrix::Identity(symmetric_size(k), k);
    for (const SpanMethod method : kMethods) {
      const Matrix found = span_vectors(basis, method, 1);
      ASSERT_EQ(found.cols(), k) << to_string(method);
      const Matrix cosines = (Z.transpose() * found).cwiseAbs();
      // Alternating least squares stops when its misfit no longer falls, at about the root of rounding.
      const double tolerance = method == SpanMethod::kAls ? 1e-6 : 1e-10;
      for (Index i = 0; i < k; ++i)
        EXPECT_GT(cosines.row(i).maxCoeff(), 1 - tolerance) << to_string(method) << " k " << k;
    }
  }
  EXPECT_EQ(parse_span_method("joint-diagonalisation"), SpanMethod::kJointDiagonalisation);
  EXPECT_THROW((void)parse_span_method("jennrich?"), std::invalid_argument);
}

TEST(Symmetric, Algorithm2IsExactOnExactMoments) {
  for (const Index k : {1, 2, 3, 5}) {
    for (const SpanMethod method : {SpanMethod::kRandomPair, SpanMethod::kJointDiagonalisation}) {
      for (const double leak : {0.0, 0.25}) {
        const auto population =
            symmetric_population(5, k, k, 90, 0, leak, 40 + static_cast<std::uint64_t>(k));
        PrintedOptions options;
        options.span = method;
        options.leak = leak;
        const DetectorNetwork found = algorithm2(population.samples, options, {});
        ASSERT_EQ(found.outcome, DetectorOutcome::kFound) << to_string(method) << " k " << k;
        EXPECT_LE(worst(population.network, found.network), kExact)
            << to_string(method) << " k " << k << " leak " << leak;
      }
    }
  }
}

TEST(Symmetric, IterativeMethodsAreExactWhereTheVectorsAreOrthogonal) {
  // Both converge linearly, slowly where two vectors are nearly parallel, so outputs are mixed to make A = I;
  // the route whitens them for the same reason.
  for (const Index k : {2, 3, 5}) {
    auto population = symmetric_population(5, k, k, 90, 0, 0, 40 + static_cast<std::uint64_t>(k));
    const Matrix inverse = population.network.A().inverse();
    population.network.A() = Matrix::Identity(k, k);
    for (const SpanMethod method : {SpanMethod::kAls, SpanMethod::kPower}) {
      PrintedOptions options;
      options.span = method;
      const DetectorNetwork found =
          algorithm2(linear_view(population.samples, Matrix::Identity(5, 5), inverse), options, {});
      ASSERT_EQ(found.outcome, DetectorOutcome::kFound) << to_string(method) << " k " << k;
      // Alternating least squares stops when its misfit no longer falls, at about the root of rounding.
      EXPECT_LE(worst(population.network, found.network), method == SpanMethod::kAls ? 1e-4 : kExact)
          << to_string(method) << " k " << k;
    }
  }
}

TEST(Symmetric, Algorithms3And4AreExactOnExactMomentsWithNoise) {
  PrintedOptions options;
  for (const Index k : {2, 4}) {
    const auto square = symmetric_population(5, k, k, 60, 0.5, 0, 50 + static_cast<std::uint64_t>(k));
    for (const bool printed : {true, false}) {
      options.printed_coordinates = printed;
      const DetectorNetwork found = algorithm3(repeated(*square.samples, 2), options, {});
      ASSERT_EQ(found.outcome, DetectorOutcome::kFound);
      EXPECT_LE(worst(square.network, found.network), kExact) << "k " << k;
    }
    const DetectorNetwork crossed = algorithm3_cross_fitted(repeated(*square.samples, 2), options, {});
    EXPECT_LE(worst(square.network, crossed.network), kExact);

    const auto wide = symmetric_population(6, k, k + 3, 60, 0.5, 0, 60 + static_cast<std::uint64_t>(k));
    const DetectorNetwork found = algorithm4(repeated(*wide.samples, 4), k, options, {});
    ASSERT_EQ(found.outcome, DetectorOutcome::kFound);
    EXPECT_LE(worst(wide.network, found.network), kExact) << "k " << k;
  }
}

TEST(Symmetric, WithoutCancellingNoiseAlgorithm2IsWrong) {
  const auto population = symmetric_population(5, 4, 4, 60, 0.5, 0, 54);
  const DetectorNetwork found = algorithm2(population.samples, {}, {});
  ASSERT_EQ(found.outcome, DetectorOutcome::kFound);
  EXPECT_GT(worst(population.network, found.network), 1e-3);
}

TEST(Symmetric, OursIsExactOnExactMoments) {
  struct Shape {
    Index d, k, m;
    double noise, leak;
  };
  for (const Shape s :
       {Shape{5, 5, 5, 0, 0}, {6, 3, 4, 0, 0}, {6, 3, 5, 0.3, 0}, {5, 4, 4, 0, 0.3}, {3, 1, 2, 0, 0}}) {
    const auto population = symmetric_population(s.d, s.k, s.m, 120, s.noise, s.leak, 70);
    SymmetricOptions options;
    options.hidden = s.k;
    options.leak = s.leak;
    // Even features are exactly uncorrelated here, and the plain linear part has no ridge.
    options.controlled = false;
    const SymmetricNetwork found = symmetric_network(population.samples, options, {});
    ASSERT_EQ(found.outcome, DetectorOutcome::kFound) << s.d << " " << s.k;
    EXPECT_LE(worst(population.network, found.network), 1e-9)
        << s.d << " " << s.k << " " << s.m << " noise " << s.noise;
    options.controlled = true;
    EXPECT_LE(worst(population.network, symmetric_network(population.samples, options, {}).network), 1e-6);
  }
}

SamplePtr orthonormal_samples(Network& network, Index k, Index n, Distribution distribution, double noise,
                              std::uint64_t seed) {
  PlantedOptions planted;
  planted.inputs = planted.hidden = planted.outputs = k;
  planted.bias = 0;
  planted.orthonormal = true;
  planted.seed = seed;
  network = plant(planted);
  SamplingOptions sampling;
  sampling.samples = n;
  sampling.distribution = distribution;
  sampling.noise = noise;
  sampling.seed = seed;
  return load(*planted_samples(network, sampling));
}

TEST(Symmetric, OursIsCloseOnSamplesAndFindsTheNumberOfUnits) {
  // Measured over 20 other seeds: W below 2e-3 and A below 1e-2 in all of them.
  for (const std::uint64_t seed : {1001, 1002, 1003}) {
    Network truth;
    const SamplePtr samples = orthonormal_samples(truth, 8, 8000, Distribution::kMixture, 0, seed);
    SymmetricOptions options;
    options.seed = seed;
    const SymmetricNetwork found = symmetric_network(samples, options, {});
    ASSERT_EQ(found.outcome, DetectorOutcome::kFound) << seed;
    EXPECT_EQ(found.units, 8);
    const PairedError error = paired_error(truth, found.network);
    EXPECT_LE(error.W, 0.02) << seed;
    EXPECT_LE(error.A, 0.05) << seed;
    EXPECT_TRUE(found.diagnosis.clear()) << found.diagnosis.words();
  }
}

TEST(Symmetric, TooFewSamplesAreReportedWithANumber) {
  Network truth;
  const SamplePtr samples = orthonormal_samples(truth, 12, 600, Distribution::kGaussian, 1.0, 5);
  SymmetricOptions options;
  options.hidden = 12;
  const SymmetricNetwork found = symmetric_network(samples, options, {});
  EXPECT_FALSE(found.diagnosis.clear());
  EXPECT_GT(found.diagnosis.samples_needed, 600);
  EXPECT_NE(found.diagnosis.words().find("samples would make"), std::string::npos) << found.diagnosis.words();
}

TEST(Symmetric, GradientDescentWithTheRightSecondLayerFindsTheFirst) {
  Network truth;
  const SamplePtr samples = orthonormal_samples(truth, 5, 2000, Distribution::kGaussian, 0, 8);
  Network start = truth;
  start.W() += 0.1 * Stream(8, "push").normal_matrix(5, 5);
  LayerDescentOptions options;
  options.iterations = 2000;
  EXPECT_LE((first_layer_by_descent(start, *samples, options, {}).W() - truth.W()).cwiseAbs().maxCoeff(),
            1e-6);
}

TEST(Symmetric, SaysWhereItDoesNotApply) {
  const auto population = symmetric_population(3, 3, 2, 40, 0, 0, 80);
  SymmetricOptions options;
  options.hidden = 3;
  EXPECT_EQ(symmetric_network(population.samples, options, {}).outcome, DetectorOutcome::kTooManyUnits);
  options.leak = 1;
  EXPECT_THROW((void)symmetric_network(population.samples, options, {}), std::invalid_argument);
  EXPECT_THROW((void)algorithm4(population.samples, 3, {}, {}), std::invalid_argument);
  const auto wide = symmetric_population(3, 3, 5, 40, 0, 0, 81);
  EXPECT_THROW((void)algorithm2(wide.samples, {}, {}), std::invalid_argument);
}

TEST(Symmetric, PairedErrorIsTheSquaredDistanceAfterNormalising) {
  Network a = testing::bias_free(2, 2, 2, 1);
  a.W() << 3, 0, 0, 1;
  a.A() << 1, 0, 0, 2;
  Network b = a;
  b.W() << 0, 5, 2, 2;
  b.A() << 0, 1, 1, 0;
  const PairedError error = paired_error(a, b);
  EXPECT_NEAR(error.W, 2 - std::sqrt(2.0), 1e-14);
  EXPECT_NEAR(error.A, 0, 1e-14);
}

}  // namespace
}  // namespace exhume::symmetric_algorithms_test
