#include "data/planted.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/random.h"
#include "planted_data.h"

namespace exhume::planted_test {
namespace {

TEST(Planted, HasUnitRowsAndBiasesInRange) {
  const Network network = plant({.inputs = 7, .hidden = 50, .outputs = 3, .bias = 0.8, .seed = 5});
  EXPECT_EQ(network.inputs(), 7);
  EXPECT_EQ(network.hidden(), 50);
  EXPECT_EQ(network.outputs(), 3);
  for (Index i = 0; i < 50; ++i) EXPECT_NEAR(network.W().row(i).norm(), 1, 1e-15);
  EXPECT_LE(network.b().cwiseAbs().maxCoeff(), 0.8);
  EXPECT_GT(network.b().cwiseAbs().maxCoeff(), 0.5);
  EXPECT_EQ(network.c().cwiseAbs().maxCoeff(), 0);
}

TEST(Planted, SignsHaveBothSignsAndSizesBetweenAHalfAndOneAndAHalf) {
  const Network network =
      plant({.inputs = 2, .hidden = 200, .outputs = 2, .amplitudes = Amplitudes::kSigns, .seed = 6});
  EXPECT_GE(network.A().cwiseAbs().minCoeff(), 0.5);
  EXPECT_LE(network.A().cwiseAbs().maxCoeff(), 1.5);
  const double positive = (network.A().array() > 0).cast<double>().mean();
  EXPECT_NEAR(positive, 0.5, 0.15);  // six standard deviations of 400 fair coins
}

TEST(Planted, BiasesAreMeasuredAtTheCentre) {
  const Network network =
      plant({.inputs = 5, .hidden = 40, .outputs = 1, .bias = 0.5, .centre = 2, .seed = 7});
  const Vector at_centre = network.W() * Vector::Constant(5, 2) + network.b();
  EXPECT_LE(at_centre.cwiseAbs().maxCoeff(), 0.5 + 1e-14);
}

TEST(Planted, RowsDoNotDependOnTheBlockTheyAreReadIn) {
  const Network network = plant({.inputs = 5, .hidden = 9, .outputs = 3, .seed = 8});
  const SamplePtr samples = planted_samples(
      network, {.samples = 10000, .mean = 1, .condition = 9, .noise = 0.1, .noise_relative = 0.1, .seed = 8});
  const SampleBlock whole = read(*samples, 0, 200);
  for (const Index first : {0, 1, 17, 130}) {
    const SampleBlock part = read(*samples, first, 33);
    EXPECT_EQ(RowMatrix(part.x()), RowMatrix(whole.x().middleRows(first, 33)));
    EXPECT_EQ(RowMatrix(part.y()), RowMatrix(whole.y().middleRows(first, 33)));
  }
}

TEST(Planted, WithoutNoiseTheOutputsAreTheNetworks) {
  Network network = plant({.inputs = 4, .hidden = 6, .outputs = 2, .seed = 9});
  network.L() = Stream(9, "L").normal_matrix(2, 4);
  const SamplePtr samples = planted_samples(network, {.samples = 300, .seed = 9});
  const SampleBlock block = read(*samples, 0, 300);
  EXPECT_LT((RowMatrix(block.y()) - evaluate(network, RowMatrix(block.x()))).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Planted, InputsHaveTheMeanAndConditionAskedFor) {
  const Network network = plant({.inputs = 6, .hidden = 2, .outputs = 1, .seed = 10});
  const Index n = 100000;
  const SamplePtr samples = planted_samples(network, {.samples = n, .mean = 2, .condition = 25, .seed = 10});
  RowMatrix x = read(*samples, 0, n).x();
  // Each mean has standard deviation at most sqrt(5 / n) = 0.007; six of them.
  EXPECT_LT((x.colwise().mean().array() - 2).abs().maxCoeff(), 6 * std::sqrt(5.0 / n));
  x.rowwise() -= x.colwise().mean().eval();
  const Matrix covariance = x.transpose() * x / static_cast<double>(n);
  const Vector eigenvalues = Eigen::SelfAdjointEigenSolver<Matrix>(covariance).eigenvalues();
  // Each has a relative standard error of sqrt(2 / n), their ratio sqrt(4 / n): six of them, and a bias of d
  // / n.
  EXPECT_NEAR(eigenvalues.maxCoeff() / eigenvalues.minCoeff(), 25, 25 * 6.1 * std::sqrt(4.0 / n));
}

TEST(Planted, NoiseHasItsStandardDeviation) {
  const Network network = plant({.inputs = 3, .hidden = 4, .outputs = 2, .seed = 11});
  const Index n = 50000;
  const SamplingOptions clean{.samples = n, .seed = 11};
  SamplingOptions noisy = clean;
  noisy.noise_relative = 0.1;
  const RowMatrix difference = RowMatrix(read(*planted_samples(network, noisy), 0, n).y()) -
                               RowMatrix(read(*planted_samples(network, clean), 0, n).y());
  const double sd = std::sqrt(difference.squaredNorm() / static_cast<double>(difference.size()));
  // A standard deviation from 2 n normals has a relative standard error of 1 / sqrt(4 n); six of them.
  EXPECT_NEAR(sd / output_scale(network, clean), 0.1, 0.1 * 6 / std::sqrt(4.0 * n));
}

TEST(Planted, SeedsDiffer) {
  EXPECT_NE(plant({.seed = 1}).W(), plant({.seed = 2}).W());
  EXPECT_EQ(plant({.seed = 1}).W(), plant({.seed = 1}).W());
}

TEST(Planted, RefusesWhatMakesNoSense) {
  EXPECT_THROW((void)plant({.inputs = 0}), std::invalid_argument);
  EXPECT_THROW((void)plant({.bias = -1}), std::invalid_argument);
  EXPECT_THROW((void)plant({.bias = NAN}), std::invalid_argument);
  EXPECT_THROW((void)parse_distribution("cauchy"), std::invalid_argument);
  EXPECT_THROW((void)parse_amplitudes(""), std::invalid_argument);
  const Network network = plant({.inputs = 1});
  EXPECT_THROW((void)planted_samples(network, {.condition = 2}), std::invalid_argument);
  EXPECT_THROW((void)planted_samples(network, {.samples = 0}), std::invalid_argument);
  EXPECT_THROW((void)planted_samples(network, {.noise = -0.1}), std::invalid_argument);
}

}  // namespace
}  // namespace exhume::planted_test
