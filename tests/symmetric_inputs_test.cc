// Input distributions, the test of symmetry, and recovery on symmetric and asymmetric inputs.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "certify/symmetry_test.h"
#include "data/planted.h"
#include "data/views.h"
#include "exhume/recover.h"
#include "refusal.h"

namespace exhume::symmetric_inputs_test {
namespace {

constexpr Distribution kSymmetric[] = {
    Distribution::kGaussian, Distribution::kMixture,  Distribution::kRandomMixture, Distribution::kCube,
    Distribution::kLaplace,  Distribution::kStudent5, Distribution::kRows};

std::shared_ptr<const RowMatrix> table(Index d) {
  RowMatrix rows(50, d);
  Stream(2, "table").fill_uniform(0, rows);
  return std::make_shared<const RowMatrix>(rows);
}

RowMatrix draw(Distribution distribution, Index n, Index d, double perturb, std::uint64_t seed) {
  RowMatrix x(n, d);
  InputDistribution(distribution, d, perturb, table(d), seed, "test").fill(0, x);
  return x;
}

SamplePtr inputs_only(RowMatrix x) {
  const Index n = x.rows();
  return memory_samples(std::move(x), RowMatrix::Zero(n, 1));
}

TEST(InputDistribution, RowsDoNotDependOnTheBlockTheyAreDrawnIn) {
  for (const Distribution distribution : kSymmetric) {
    const InputDistribution inputs(distribution, 4, 0.3, table(4), 9, "test");
    RowMatrix whole(60, 4), part(7, 4);
    inputs.fill(0, whole);
    inputs.fill(33, part);
    EXPECT_EQ(part, RowMatrix(whole.middleRows(33, 7))) << to_string(distribution);
  }
}

TEST(InputDistribution, HasTheMomentsItsNameSays) {
  constexpr Index n = 100000, d = 3;
  const double mean_tolerance = 6 * std::sqrt(2.0 / n);
  const auto second = [&](Distribution distribution) {
    const RowMatrix x = draw(distribution, n, d, 0, 4);
    EXPECT_LE(x.colwise().mean().cwiseAbs().maxCoeff(), mean_tolerance) << to_string(distribution);
    return Matrix(x.transpose() * x / static_cast<double>(n));
  };
  const auto fourth = [&](Distribution distribution) {
    return draw(distribution, n, d, 0, 4).array().pow(4).mean();
  };
  const Matrix I = Matrix::Identity(d, d);
  // Variance 1, except the mixture, whose centres add 1 1^T. Six standard deviations, from fourth moments up
  // to 9.
  constexpr double kTolerance = 0.06;
  EXPECT_LE((second(Distribution::kGaussian) - I).cwiseAbs().maxCoeff(), kTolerance);
  EXPECT_LE((second(Distribution::kMixture) - I - Matrix::Ones(d, d)).cwiseAbs().maxCoeff(), kTolerance);
  EXPECT_LE((second(Distribution::kCube) - I).cwiseAbs().maxCoeff(), kTolerance);
  EXPECT_LE((second(Distribution::kLaplace) - I).cwiseAbs().maxCoeff(), kTolerance);
  EXPECT_LE((second(Distribution::kStudent5) - I).cwiseAbs().maxCoeff(), kTolerance);
  EXPECT_NEAR(fourth(Distribution::kCube), 9.0 / 5, 0.02);
  EXPECT_NEAR(fourth(Distribution::kLaplace), 6, 0.6);  // 3 E[e^2]
  EXPECT_NEAR(draw(Distribution::kExponential, n, d, 0, 4).array().pow(3).mean(), 2, 0.25);
}

TEST(InputDistribution, RowsComeFromTheTableWithEitherSign) {
  const auto rows = table(4);
  const RowMatrix x = draw(Distribution::kRows, 500, 4, 0, 6);
  int positive = 0;
  for (Index i = 0; i < x.rows(); ++i) {
    const double sign = x(i, 0) > 0 ? 1 : -1;
    positive += sign > 0;
    EXPECT_EQ((rows->rowwise() - sign * x.row(i)).rowwise().squaredNorm().minCoeff(), 0);
  }
  EXPECT_NEAR(positive, 250, 70);  // six standard deviations
}

TEST(InputDistribution, PerturbationReplacesItsShareOfRows) {
  const RowMatrix plain = draw(Distribution::kMixture, 4000, 3, 0, 7),
                  perturbed = draw(Distribution::kMixture, 4000, 3, 0.25, 7);
  Index changed = 0;
  for (Index i = 0; i < plain.rows(); ++i) changed += plain.row(i) != perturbed.row(i);
  EXPECT_NEAR(static_cast<double>(changed), 1000, 170);  // six standard deviations
}

TEST(InputDistribution, RefusesWhatItCannotDraw) {
  EXPECT_THROW(InputDistribution(Distribution::kRows, 3, 0, nullptr, 0, "t"), std::invalid_argument);
  EXPECT_THROW(InputDistribution(Distribution::kRows, 3, 0, table(4), 0, "t"), std::invalid_argument);
  EXPECT_THROW(InputDistribution(Distribution::kCube, 3, 1.5, nullptr, 0, "t"), std::invalid_argument);
  EXPECT_THROW((void)parse_distribution("cauchy"), std::invalid_argument);
}

TEST(Planted, OrthonormalWeightsHaveTheConditionAskedFor) {
  PlantedOptions options;
  options.inputs = 9;
  options.hidden = 6;
  options.outputs = 7;
  options.orthonormal = true;
  options.weights_condition = 10;
  const Network network = plant(options);
  const Matrix AA = network.A().transpose() * network.A();
  EXPECT_LE((AA - Matrix::Identity(6, 6)).cwiseAbs().maxCoeff(), 1e-13);
  // Singular values 10^(-i/5): the sum of squares and the product are known.
  double squares = 0;
  for (int i = 0; i < 6; ++i) squares += std::pow(10.0, -2.0 * i / 5);
  EXPECT_NEAR(network.W().squaredNorm(), squares, 1e-12);
  EXPECT_NEAR(std::log10((network.W() * network.W().transpose()).determinant()), -2 * 15.0 / 5, 1e-10);
  options.hidden = 8;
  EXPECT_THROW((void)plant(options), std::invalid_argument);
}

TEST(Planted, ALeakIsALinearTerm) {
  PlantedOptions options;
  options.leak = 0.2;
  options.inputs = 3;
  options.hidden = 4;
  options.outputs = 2;
  const Network leaky = plant(options);
  options.leak = 0;
  const Network plain = plant(options);
  const RowMatrix x = draw(Distribution::kGaussian, 20, 3, 0, 1);
  const Matrix z = (x * plain.W().transpose()).rowwise() + plain.b().transpose();
  const RowMatrix expected = z.array().max(0.2 * z.array()).matrix() * plain.A().transpose();
  EXPECT_LE((evaluate(leaky, x) - expected).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(SymmetryTest, HoldsForSymmetricInputs) {
  // The threshold is exceeded by chance with probability at most 1e-4: over 28 runs less than 0.3 percent.
  for (const Distribution distribution : kSymmetric) {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      const SymmetryTest test = test_symmetry(*inputs_only(draw(distribution, 3000, 10, 0, seed)), seed, {});
      EXPECT_TRUE(test.holds()) << to_string(distribution) << " seed " << seed << ": " << test.words();
      EXPECT_GT(test.statistic, 1);
    }
  }
}

TEST(SymmetryTest, FailsForExponentialAndShiftedInputsAndSaysSo) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const SymmetryTest skewed =
        test_symmetry(*inputs_only(draw(Distribution::kExponential, 1000, 10, 0, seed)), seed, {});
    EXPECT_FALSE(skewed.holds()) << seed;
    EXPECT_FALSE(skewed.holds_about_mean()) << seed;
    RowMatrix x = draw(Distribution::kGaussian, 1000, 10, 0, seed);
    x.array() += 0.3;
    const SymmetryTest shifted = test_symmetry(*inputs_only(std::move(x)), seed, {});
    EXPECT_FALSE(shifted.holds()) << seed;
    EXPECT_TRUE(shifted.holds_about_mean()) << seed;
    EXPECT_NE(shifted.words().find("symmetric about their mean"), std::string::npos);
    EXPECT_NE(shifted.words().find("statistic"), std::string::npos);
  }
}

TEST(SymmetryTest, IsZeroForMirroredInputs) {
  const SamplePtr samples = inputs_only(draw(Distribution::kExponential, 400, 3, 0, 5));
  EXPECT_LE(test_symmetry(*mirrored_view(samples, samples), 0, {}).statistic, 1e-9);
}

SamplePtr planted(Network& network, Distribution distribution, double mean, Index n, std::uint64_t seed) {
  PlantedOptions options;
  options.inputs = options.hidden = options.outputs = 6;
  options.bias = 0;
  options.orthonormal = true;
  options.seed = seed;
  network = plant(options);
  SamplingOptions sampling;
  sampling.samples = n;
  sampling.distribution = distribution;
  sampling.mean = mean;
  sampling.seed = seed;
  return load(*planted_samples(network, sampling));
}

TEST(RecoverSymmetric, IsExactOnTheMixture) {
  Network truth;
  const SamplePtr samples = planted(truth, Distribution::kMixture, 0, 2000, 3001);
  RecoverOptions options;
  options.route = "symmetric";
  const Result result = recover(samples, options);
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_EQ(result.certificate.route, "symmetric");
  EXPECT_LE(align(canonical(truth), result.network).worst_error, 1e-9);
}

TEST(RecoverSymmetric, NothingIsClaimedForAsymmetricInputs) {
  for (const double mean : {0.0, 1.0}) {
    Network truth;
    const SamplePtr samples =
        planted(truth, mean == 0 ? Distribution::kExponential : Distribution::kGaussian, mean, 1500, 3002);
    RecoverOptions options;
    options.route = "symmetric";
    options.widths = {6};
    const Result result = recover(samples, options);
    EXPECT_EQ(result.certificate.route, "any_inputs");
    ASSERT_FALSE(result.certificate.tried.empty());
    EXPECT_EQ(result.certificate.tried[0].route, "symmetric");
    EXPECT_NE(result.certificate.tried[0].outcome.find("not symmetric: statistic"), std::string::npos)
        << result.certificate.tried[0].outcome;
    ASSERT_FALSE(result.certificate.assumptions.empty());
    EXPECT_EQ(result.certificate.assumptions[0].name, "inputs symmetric about zero");
    EXPECT_FALSE(result.certificate.assumptions[0].holds);
  }
}

TEST(RecoverSymmetric, MirroredLabelsMakeAnyInputsSymmetric) {
  Network truth;
  const SamplePtr samples = planted(truth, Distribution::kExponential, 0, 1000, 3003);
  SampleBlock all;
  samples->read(0, samples->rows(), all);
  const RowMatrix turned = -all.x();
  const SamplePtr labels = memory_samples(turned, evaluate(truth, turned));
  RecoverOptions options;
  options.route = "symmetric";
  options.widths = {6};
  const Result result = recover(mirrored_view(samples, labels), options);
  EXPECT_EQ(result.certificate.route, "symmetric");
  EXPECT_TRUE(result.certificate.assumptions[0].holds);
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_LE(align(canonical(truth), result.network).worst_error, 1e-9);
}

}  // namespace
}  // namespace exhume::symmetric_inputs_test
