// Verdicts under noise: what speaks against a network is found, and what does not is let pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "base/passes.h"
#include "certify/polynomial_residuals.h"
#include "certify/residual_look.h"
#include "data/planted.h"
#include "exhume/recover.h"
#include "fit/polish.h"
#include "planted_data.h"

namespace exhume::noise_verdict_test {
namespace {

struct Noisy : PlantedData {
  RowMatrix noise;  // of variance 1
};

Noisy noisy_data(Index d, Index k, Index m, Index n, std::uint64_t seed) {
  Noisy out{planted_data(d, k, m, n, seed), RowMatrix(n, m)};
  Stream(seed, "test noise").fill_normal(0, out.noise);
  return out;
}

Result recovered(const RowMatrix& x, const RowMatrix& y, RecoverOptions options = {}) {
  options.budget_seconds = 120;  // a busy machine takes long
  return recover(memory_samples(x, y), options);
}

// Errors of all weights over their standard errors: their largest.
double worst_deviation(const Result& result, const Network& truth) {
  const Alignment match = align(result.network, truth);
  const Network canon = canonical(truth);
  double worst = 0;
  for (Index i = 0; i < result.network.hidden(); ++i) {
    const Index j = match.match[0][static_cast<size_t>(i)];
    const auto w = (result.network.W().row(i) - canon.W().row(j))
                       .cwiseQuotient(result.errors.standard_errors.W().row(i));
    const auto a = (result.network.A().col(i) - canon.A().col(j))
                       .cwiseQuotient(result.errors.standard_errors.A().col(i));
    worst = std::max({worst, w.cwiseAbs().maxCoeff(), a.cwiseAbs().maxCoeff()});
  }
  return worst;
}

TEST(NoiseVerdict, PlainNoiseIsEstimated) {
  for (const std::uint64_t seed : {61, 62, 63}) {
    const Noisy data = noisy_data(5, 4, 2, 8000, seed);
    const Result result = recovered(data.x, data.y + 0.1 * data.noise);
    ASSERT_EQ(result.certificate.status, Status::kEstimated) << result.certificate.reason;
    EXPECT_NE(result.certificate.conclusion.find("If they are, the noise has"), std::string::npos);
    EXPECT_LT(worst_deviation(result, data.network), 5) << seed;
  }
}

// The largest Z of all bandwidths by plain loops: those of src/certify/residual_look.h.
double neighbours_by_loops(const Matrix& x, const Matrix& residuals) {
  const Index n = x.rows();
  Matrix r = residuals.rowwise() - residuals.colwise().mean();
  for (Index o = 0; o < r.cols(); ++o) r.col(o) /= std::sqrt(r.col(o).squaredNorm() / static_cast<double>(n));
  double largest = 0;
  for (const size_t neighbour : {4, 16, 64}) {
    std::vector<double> reach;
    for (Index i = 0; i < std::min<Index>(n, 128); ++i) {
      std::vector<double> apart;
      for (Index j = 0; j < n; ++j) apart.push_back((x.row(i) - x.row(j)).squaredNorm());
      std::sort(apart.begin(), apart.end());
      reach.push_back(std::max(apart[neighbour], kTiny));
    }
    std::sort(reach.begin(), reach.end());
    double sum = 0, squares = 0;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        if (i == j) continue;
        const double term =
            std::exp(-(x.row(i) - x.row(j)).squaredNorm() / reach[reach.size() / 2]) * r.row(i).dot(r.row(j));
        sum += term;
        squares += term * term;
      }
    }
    largest = std::max(largest, sum / std::sqrt(2 * squares));
  }
  return largest;
}

TEST(ResidualLook, NeighboursAreThoseOfPlainLoops) {
  constexpr double kSinglePrecision = 1e-5;
  for (const Index d : {1, 3}) {
    const Noisy data = noisy_data(d, 2, 2, 601, 71);
    const Matrix r = data.noise + 0.3 * data.y;
    EXPECT_NEAR(neighbour_statistic(data.x, r), neighbours_by_loops(data.x, r), kSinglePrecision) << d;
  }
}

TEST(ResidualLook, RowsThatAreRepeatedHaveNoDistance) {
  const Noisy data = noisy_data(3, 2, 1, 1200, 72);
  Matrix x = data.x;
  for (Index i = 0; i < x.rows(); ++i) x.row(i) = 1e3 * data.x.row(i % 12);
  EXPECT_LT(std::abs(neighbour_statistic(x, data.noise)), 5);
  EXPECT_GT(neighbour_statistic(x, x.leftCols(1)), 20);
}

TEST(ResidualLook, SortedAreThoseOfPlainLoops) {
  const Noisy data = noisy_data(2, 2, 1, 301, 73);
  const Matrix r = data.noise + 0.3 * data.y;
  double largest = 0;
  for (Index a = 0; a < 2; ++a) {
    std::vector<Index> order(301);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](Index i, Index j) { return data.x(i, a) < data.x(j, a); });
    double products = 0, squares = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t j = i + 1; j <= i + 4 && j < order.size(); ++j) {
        const double product = (r(order[i], 0) - r.mean()) * (r(order[j], 0) - r.mean());
        products += product;
        squares += product * product;
      }
    }
    largest = std::max(largest, products / std::sqrt(squares));
  }
  EXPECT_NEAR(sorted_statistic(data.x, r), largest, 1e-12);
}

TEST(NoiseVerdict, UnitsThatMayBeTurnedTogetherAreNotEstimated) {
  Noisy data = noisy_data(5, 4, 1, 20000, 64);
  Network& network = data.network;
  const Eigen::RowVectorXd third =
      -(network.A()(0, 0) * network.W().row(0) + network.A()(0, 1) * network.W().row(1));
  network.W().row(2) = third.normalized();
  network.A()(0, 2) = third.norm();
  const Result result = recovered(data.x, evaluate(network, data.x) + 0.05 * data.noise);
  EXPECT_EQ(result.certificate.status, Status::kUncertified);
  EXPECT_FALSE(result.signs_identifiable);
}

TEST(NoiseVerdict, AUnitTooManyIsSeen) {
  const Noisy data = noisy_data(5, 3, 1, 8000, 65);
  RecoverOptions options;
  options.widths = {4};
  EXPECT_EQ(recovered(data.x, data.y + 0.1 * data.noise, options).certificate.status, Status::kUncertified);
}

TEST(NoiseVerdict, SharedNoiseIsUsed) {
  // Contrasts of outputs with the same noise have none: weights come back far beyond it.
  const Noisy data = noisy_data(5, 4, 3, 8000, 66);
  const RowMatrix y = data.y + 0.1 * data.noise.col(0).replicate(1, 3) + 1e-3 * data.noise;
  const Result result = recovered(data.x, y);
  ASSERT_EQ(result.certificate.status, Status::kEstimated) << result.certificate.reason;
  EXPECT_GT(result.errors.noise_covariance(0, 1), 0.9 * result.errors.noise_covariance(0, 0));
  EXPECT_LT((result.network.W() - canonical(data.network).W()).cwiseAbs().maxCoeff(), 2e-3);
  EXPECT_LT(worst_deviation(result, data.network), 5);
}

TEST(NoiseVerdict, NoiseInOneOfThreeOutputs) {
  const Noisy data = noisy_data(5, 4, 3, 8000, 67);
  RowMatrix y = data.y;
  y.col(0) += 0.1 * data.noise.col(0);
  const Result result = recovered(data.x, y);
  EXPECT_EQ(result.certificate.status, Status::kEstimated) << result.certificate.reason;
  EXPECT_LT((result.network.W() - canonical(data.network).W()).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(NoiseVerdict, NoiseInTheInputsIsNotNoise) {
  const Noisy data = noisy_data(5, 4, 1, 20000, 68);
  RowMatrix moved(20000, 5);
  Stream(68, "moved").fill_normal(0, moved);
  EXPECT_EQ(recovered(data.x + 0.2 * moved, data.y).certificate.status, Status::kUncertified);
}

// y - f has variance 1 and f is the network: only what is added may show.
ResidualLook look(const Noisy& data, const RowMatrix& residual) {
  const SamplePtr samples = memory_samples(data.x, data.y + residual);
  Form model = to_signed_form(data.network);
  fit_linear_part(model, *samples, {}, {});
  return look_at_residual(model, samples, {});
}

TEST(ResidualLook, NoisePasses) {
  for (std::uint64_t seed = 70; seed < 76; ++seed) {
    const Noisy data = noisy_data(6, 5, 2, 30000, seed);
    EXPECT_TRUE(looks_like_noise(look(data, data.noise))) << "seed " << seed;
  }
}

// The largest t over all polynomials, one after the other.
double largest_by_loops(const RowMatrix& x, const RowMatrix& r, bool triples) {
  const Index d = x.cols();
  double largest = 0;
  const auto take = [&](const Eigen::ArrayXd& h) {
    for (Index o = 0; o < r.cols(); ++o) {
      const Eigen::ArrayXd product = r.col(o).array() * h;
      const double squares = product.square().sum();
      if (squares > 0) largest = std::max(largest, std::abs(product.sum()) / std::sqrt(squares));
    }
  };
  for (Index a = 0; a < d; ++a) {
    const Eigen::ArrayXd xa = x.col(a).array(), second = xa.square() - 1;
    take(second);
    take(xa * (xa.square() - 3));
    for (Index b = 0; b < d; ++b) {
      if (b != a) take(second * x.col(b).array());
      if (b > a) take(xa * x.col(b).array());
      for (Index c = b + 1; triples && b > a && c < d; ++c) take(xa * x.col(b).array() * x.col(c).array());
    }
  }
  return largest;
}

TEST(ResidualLook, PolynomialsAgreeWithPlainSums) {
  // Sums of some 5000 terms of size 1, in another order.
  constexpr double kTolerance = 1e-10;
  for (const Index d : {1, 2, 3, 7}) {
    for (const Index m : {1, 3}) {
      const Index rows = kBlockRows + 1;
      RowMatrix x(rows, d), r(rows, m);
      Stream(90 + static_cast<std::uint64_t>(d), "x").fill_normal(0, x);
      Stream(90 + static_cast<std::uint64_t>(m), "r").fill_normal(0, r);
      for (const bool triples : {false, true}) {
        const PolynomialLook look = look_at_polynomials(*memory_samples(x, r), triples, {});
        EXPECT_NEAR(look.largest, largest_by_loops(x, r, triples), kTolerance) << d << " " << m;
        const Index terms = d * (d + 1) / 2 + (triples ? d * (d + 1) * (d + 2) / 6 : d * d);
        EXPECT_EQ(look.tested, static_cast<double>(terms * m));
      }
    }
  }
}

TEST(ResidualLook, SmallDeviationsShowOnAllRows) {
  // Energies of 20^2 / n and more: a test function of that shape has |t| = 20.
  const Noisy data = noisy_data(4, 3, 1, 60000, 77);
  const double size = 20 / std::sqrt(60000.0);
  const auto deviation = [&](const auto& g) {
    RowMatrix out = data.noise;
    for (Index i = 0; i < out.rows(); ++i) out(i, 0) += size * g(data.x.row(i));
    return look(data, out);
  };
  EXPECT_GT(deviation([](const auto& x) { return x(0) * x(1) * x(2); }).polynomials, 10);
  EXPECT_GT(deviation([](const auto& x) { return 2 * std::sin(2 * x(0)) * std::sin(2 * x(1)); }).bins, 1);
  EXPECT_GT(deviation([](const auto& x) { return 1.4 * std::sin(9 * x(2)); }).bins, 1);
  const ResidualLook wide =
      look(data, data.noise.cwiseProduct((1 + 0.15 * data.x.col(0).array().tanh()).matrix()));
  EXPECT_GT(wide.spread, 1);
}

// Outputs without noise must not outweigh the noisy one until nothing is fitted to it.
TEST(NoiseVerdict, ExactOutputsDoNotOutweighANoisyOne) {
  for (const std::uint64_t seed : {81, 82, 83, 84}) {
    const Noisy data = noisy_data(5, 5, 3, 8000, seed);
    RowMatrix y = data.y;
    y.col(1) += 0.1 * data.noise.col(1);
    const Result result = recovered(data.x, y);
    EXPECT_EQ(result.certificate.status, Status::kEstimated) << seed << ": " << result.certificate.reason;
    EXPECT_EQ(result.network.hidden(), 5) << seed;
  }
}

// A clock on which every look takes a millisecond: the same on every machine.
class CountedClock final : public Passes {
 public:
  void pass(std::string_view, BlockSum& sum) override { sum.add(0, sum.blocks()); }
  [[nodiscard]] Clock::time_point now() override { return now_; }
  void agree_on_time() override { now_ += std::chrono::milliseconds(1); }

 private:
  Clock::time_point now_;
};

// Wherever the time ends, that is what is said, and nothing about the data. It once crashed before the first
// polish.
TEST(NoiseVerdict, TimeThatEndsIsNotBlamedOnTheData) {
  constexpr int kFewestStops = 8;  // budgets that end within the search, of those that are tried
  const Noisy data = noisy_data(6, 6, 3, 5000, 85);
  const SamplePtr samples = memory_samples(data.x, data.y + 0.1 * data.noise);
  int stops = 0;
  for (int looks = 1;; looks += 1 + looks / 2) {
    ASSERT_LT(looks, 100000) << "no budget is enough";
    RecoverOptions options;
    options.widths = {6};
    options.budget_seconds = 1e-3 * looks;
    Control control;
    control.passes = std::make_shared<CountedClock>();
    const Result result = recover(samples, options, control);
    if (result.certificate.status == Status::kEstimated) break;
    ++stops;
    EXPECT_EQ(result.certificate.status, Status::kUncertified) << looks;
    EXPECT_NE(result.certificate.reason.find("stopped after"), std::string::npos)
        << looks << ": " << result.certificate.reason;
  }
  EXPECT_GE(stops, kFewestStops);
}

}  // namespace
}  // namespace exhume::noise_verdict_test
