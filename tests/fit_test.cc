// From rough units to a finished network: what every route ends with.
#include "fit/fit.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <string>

#include "base/random.h"
#include "data/planted.h"
#include "exhume/error.h"
#include "moments/standardise.h"

namespace exhume::fit_test {
namespace {

// Exact fits end with residuals near eps and a Jacobian whose condition is below 1e4 for these networks, so
// with weights good to 1e-11.
constexpr double kExactWeights = 1e-10;
// "Exact" over all rows, as fit.cc has it: mean squared residual over the outputs' variance.
constexpr double kExactResidual = 1e-20;

struct Planted {
  Network network;  // in standardised coordinates
  SamplePtr samples;
  Standardisation standard;
};

Planted standardised(const Network& network, const SamplePtr& samples) {
  Planted out;
  out.standard = standardise(second_moments(*samples, {}));
  out.network = out.standard.from_user(network);
  out.samples = affine(samples, out.standard.map);
  return out;
}

Planted planted(Index d, Index k, Index m, Index rows, std::uint64_t seed) {
  const Network network =
      plant({.inputs = d, .hidden = k, .outputs = m, .amplitudes = Amplitudes::kSigns, .seed = seed});
  return standardised(
      network,
      planted_samples(network, {.samples = rows, .condition = d == 1 ? 1.0 : 3.0, .seed = seed + 1}));
}

// The true units of unit norm, off by `error`, every second one turned around.
Matrix rough_units(const Network& network, double error, std::uint64_t seed) {
  Matrix V(network.hidden(), network.inputs() + 1);
  V << network.W(), network.b();
  for (Index j = 0; j < V.rows(); ++j) V.row(j) /= (j % 2 == 0 ? 1 : -1) * network.W().row(j).norm();
  return V + error * Stream(seed, "rough").normal_matrix(V.rows(), V.cols());
}

void expect_exact(const Fit& fit, const Planted& truth, const std::string& what) {
  EXPECT_EQ(fit.outcome, SearchOutcome::kExact) << what;
  EXPECT_EQ(fit.model.units(), truth.network.hidden()) << what;
  EXPECT_EQ(fit.signs.outcome, SignOutcome::kUnique) << what;
  EXPECT_TRUE(fit.model.plain) << what;
  EXPECT_EQ(fit.model.activation(), Activation::kRelu) << what;
  EXPECT_LE(fit.relative_mse, kExactResidual) << what;
  EXPECT_EQ(fit.noise_covariance.norm(), 0) << what;
  EXPECT_LE(align(to_network(fit.model), truth.network).worst_error, kExactWeights) << what;
}

TEST(Fit, ExactDataFromRoughStarts) {
  for (const auto& [d, k, m] : {std::array<Index, 3>{1, 1, 1}, {2, 2, 1}, {5, 4, 1}, {4, 5, 3}}) {
    for (const std::uint64_t seed : {11, 12}) {
      const Planted p = planted(d, k, m, 3000, seed);
      const Fit fit = fit_units(rough_units(p.network, 0.1, seed), p.samples, {}, {});
      expect_exact(
          fit, p,
          std::to_string(d) + " inputs, " + std::to_string(k) + " units, seed " + std::to_string(seed));
    }
  }
}

TEST(Fit, ExactDataFromTooManyUnits) {
  const Planted p = planted(5, 4, 2, 3000, 13);
  Matrix V(4 + 3, 6);
  V << rough_units(p.network, 0.1, 13), Stream(13, "more").normal_matrix(3, 6);
  expect_exact(fit_units(V, p.samples, {}, {}), p, "three units too many");
  V.bottomRows(3) = V.topRows(3);
  expect_exact(fit_units(V, p.samples, {}, {}), p, "three units twice");
}

TEST(Fit, ExactDataFromNoUnits) {
  const Planted p = planted(5, 4, 2, 3000, 14);
  expect_exact(fit_units(Matrix(0, 6), p.samples, {}, {}), p, "none");
  FitOptions told;
  told.hidden = 4;
  expect_exact(fit_units(Matrix(0, 6), p.samples, told, {}), p, "none, four asked for");
}

TEST(Fit, AUnitThatTheFirstSubsetHardlySeesIsFound) {
  // The third unit is active on about 1 row in 150 and the first subset has 2,000 of 40,000 rows.
  Network network =
      plant({.inputs = 4, .hidden = 3, .outputs = 1, .amplitudes = Amplitudes::kSigns, .seed = 15});
  network.b()(2) = -2.5;
  const Planted p = standardised(network, planted_samples(network, {.samples = 40000, .seed = 16}));
  expect_exact(fit_units(rough_units(p.network, 0.05, 15), p.samples, {}, {}), p, "a seldom unit");
}

TEST(Fit, NoiseEndsAsNoiseWithTheVarianceOfEveryOutput) {
  // The residuals' variance over n - p rows has a relative standard error of sqrt(2 / n) under Gaussian
  // noise; six of them are exceeded with probability 2e-9, so by one of the 8 below with less than 1e-7.
  constexpr double kTail = 6;
  constexpr Index kRows = 8000;
  const double sizes[] = {0.05, 0.4};
  for (const std::uint64_t seed : {21, 22}) {
    for (const bool rough : {true, false}) {
      const Network network =
          plant({.inputs = 4, .hidden = 3, .outputs = 2, .amplitudes = Amplitudes::kSigns, .seed = seed});
      const RowMatrix x = Stream(seed, "x").normal_matrix(kRows, 4);
      RowMatrix y = evaluate(network, x);
      const RowMatrix noise = Stream(seed, "noise").normal_matrix(kRows, 2);
      for (Index o = 0; o < 2; ++o) y.col(o) += sizes[o] * noise.col(o);
      const Planted p = standardised(network, memory_samples(x, y));
      const Matrix start = rough ? rough_units(p.network, 0.1, seed) : Matrix(0, 5);
      const Fit fit = fit_units(start, p.samples, {}, {});
      EXPECT_EQ(fit.outcome, SearchOutcome::kNoise) << "seed " << seed;
      ASSERT_EQ(fit.model.units(), 3) << "seed " << seed;
      EXPECT_LT(fit.structure, 1);
      EXPECT_EQ(fit.signs.outcome, SignOutcome::kUnique);
      ASSERT_EQ(fit.noise_covariance.rows(), 2);
      double total = 0;
      for (Index o = 0; o < 2; ++o) {
        const double expected = std::pow(sizes[o] * p.standard.map.D(o), 2);
        EXPECT_NEAR(fit.noise_covariance(o, o), expected, kTail * std::sqrt(2.0 / kRows) * expected)
            << "output " << o << ", seed " << seed;
        total += expected / 2;
      }
      EXPECT_NEAR(fit.relative_mse, total, kTail * std::sqrt(2.0 / kRows) * total);
      // 16,000 equations, 3 (4 + 2) + 2 (4 + 1) unknowns of the sign-free form.
      EXPECT_NEAR(fit.rows_per_unknown, 2.0 * kRows / 28, 1e-9);
    }
  }
}

TEST(Fit, NoiseAloneLeavesNoUnits) {
  const RowMatrix x = Stream(23, "x").normal_matrix(4000, 3), y = Stream(23, "y").normal_matrix(4000, 1);
  const SamplePtr samples = memory_samples(x, y);
  const Fit fit =
      fit_units(Matrix(0, 4), affine(samples, standardise(second_moments(*samples, {})).map), {}, {});
  EXPECT_EQ(fit.outcome, SearchOutcome::kNoise);
  EXPECT_EQ(fit.model.units(), 0);
  // Variance 1 but for a linear fit of 3 coefficients to 4,000 rows, chi-squared of mean 3: 30 is exceeded
  // with less than 1e-5.
  EXPECT_LE(fit.relative_mse, 1 + 1e-12);
  EXPECT_GE(fit.relative_mse, 1 - 30.0 / 4000);
}

TEST(Fit, TooFewUnitsEndStuck) {
  const Planted p = planted(5, 4, 2, 3000, 24);
  FitOptions options;
  options.hidden = 3;
  options.most_restarts = 1;
  const Fit fit = fit_units(rough_units(p.network, 0.1, 24).topRows(3), p.samples, options, {});
  EXPECT_EQ(fit.outcome, SearchOutcome::kStuck);
  EXPECT_EQ(fit.model.units(), 3);
  EXPECT_GT(fit.structure, 1) << "what is left is not noise";
  EXPECT_GT(fit.relative_mse, 1e-4);
  EXPECT_GE(fit.restarts, 1);
}

TEST(Fit, TheResidualThatIsStatedIsThatOfTheModel) {
  const Planted p = planted(4, 3, 2, 5001, 25);
  FitOptions options;
  options.hidden = 2;
  options.most_restarts = 0;
  const Fit fit = fit_units(rough_units(p.network, 0.1, 25).topRows(2), p.samples, options, {});
  SampleBlock block;
  p.samples->read(0, 5001, block);
  const RowMatrix left = block.y() - evaluate(fit.model, block.x());
  EXPECT_NEAR(fit.relative_mse, left.squaredNorm() / (2 * 5001), 1e-12 * fit.relative_mse);
  // Freedom of k (d + m) + m (d + 1) unknowns, shared between the outputs.
  const double freedom = 5001 - (2 * (4 + 2) + 2 * (4 + 1)) / 2.0;
  for (Index o = 0; o < 2; ++o) {
    EXPECT_NEAR(fit.noise_covariance(o, o), left.col(o).squaredNorm() / freedom,
                1e-12 * fit.noise_covariance(o, o));
  }
}

TEST(Fit, IsTheSameForAnyNumberOfThreads) {
  const Network network = plant({.inputs = 4, .hidden = 3, .outputs = 2, .seed = 26});
  for (const double noise : {0.0, 0.1}) {
    const Planted p =
        standardised(network, planted_samples(network, {.samples = 9000, .noise = noise, .seed = 27}));
    Control one, three;
    one.threads = 1;
    three.threads = 3;
    const Fit a = fit_units(rough_units(p.network, 0.1, 26), p.samples, {}, one);
    const Fit b = fit_units(rough_units(p.network, 0.1, 26), p.samples, {}, three);
    EXPECT_TRUE(a.model.V == b.model.V && a.model.C == b.model.C) << noise;
    EXPECT_EQ(a.outcome, b.outcome);
    EXPECT_EQ(a.relative_mse, b.relative_mse);
  }
}

TEST(Fit, PastItsDeadlineItReturnsWhatItHas) {
  const Planted p = planted(5, 4, 2, 3000, 28);
  Control late;
  late.deadline = Control::Clock::now();
  const Fit fit = fit_units(Stream(28, "far off").normal_matrix(4, 6), p.samples, {}, late);
  EXPECT_EQ(fit.outcome, SearchOutcome::kStuck);
  EXPECT_EQ(fit.restarts, 0);
  EXPECT_GT(fit.model.units(), 0);
  EXPECT_TRUE(fit.model.V[0].allFinite() && fit.model.C.allFinite());
  EXPECT_TRUE(std::isfinite(fit.relative_mse));
}

TEST(Fit, CanBeInterrupted) {
  const Planted p = planted(5, 4, 2, 3000, 29);
  for (const int after : {0, 10, 100}) {
    Control control;
    int asked = 0;
    control.should_stop = [&] { return ++asked > after; };
    EXPECT_THROW((void)fit_units(Matrix(0, 6), p.samples, {}, control), Interrupted) << after;
    EXPECT_EQ(asked, after + 1) << "asked again after it said stop";
  }
}

TEST(Fit, FreeParametersAreTheRankOfTheJacobian) {
  EXPECT_EQ(free_parameters(1, 0, 1), 1);
  EXPECT_EQ(free_parameters(3, 2, 2), 12);
  for (const auto& [d, k, m] : {std::array<Index, 3>{1, 1, 1}, {3, 2, 2}, {2, 3, 1}, {4, 1, 3}}) {
    const Network network = plant({.inputs = d, .hidden = k, .outputs = m, .seed = 30});
    const Index n = 400, w = d + 1;
    const Matrix x = Stream(31, "x").normal_matrix(n, d);
    // Derivatives by W and b, by A, by c, one row an (i, output).
    Matrix J = Matrix::Zero(n * m, k * w + m * k + m);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < k; ++j) {
        const double z = network.W().row(j).dot(x.row(i)) + network.b()(j);
        for (Index o = 0; o < m && z > 0; ++o) {
          for (Index a = 0; a < d; ++a) J(i * m + o, j * w + a) = network.A()(o, j) * x(i, a);
          J(i * m + o, j * w + d) = network.A()(o, j);
          J(i * m + o, k * w + o * k + j) = z;
        }
      }
      for (Index o = 0; o < m; ++o) J(i * m + o, k * w + m * k + o) = 1;
    }
    Eigen::ColPivHouseholderQR<Matrix> qr(J);
    qr.setThreshold(1e-10);
    EXPECT_EQ(free_parameters(d, k, m), qr.rank()) << d << " inputs, " << k << " units, " << m << " outputs";
  }
}

}  // namespace
}  // namespace exhume::fit_test
