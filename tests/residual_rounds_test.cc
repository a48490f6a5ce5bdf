// Units in rounds on the residual: amplitudes of a trained network, from nothing like a complete start.
#include "routes/residual_rounds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "data/resident.h"
#include "engine/open_device.h"
#include "exhume/network.h"

namespace exhume::residual_rounds_test {
namespace {

constexpr double kExactWeights = 1e-9;

// Amplitudes over two orders of magnitude, biases up to +-1.5: units of trained networks.
Network trained_like(Index d, Index k, std::uint64_t seed) {
  Network network;
  network.W() = Stream(seed, "W").normal_matrix(k, d);
  network.W().rowwise().normalize();
  network.b() = Stream(seed, "b").uniform_vector(k, -1.5, 1.5);
  network.A() = Stream(seed, "A").normal_matrix(1, k);
  for (Index i = 0; i < k; ++i) {
    const double sign = network.A()(0, i) < 0 ? -1 : 1;
    network.A()(0, i) = sign * std::pow(100.0, -static_cast<double>(i) / static_cast<double>(k - 1));
  }
  network.c() = Vector::Zero(1);
  return network;
}

SamplePtr samples_of(const Network& network, Index rows, std::uint64_t seed, double noise = 0) {
  RowMatrix x(rows, network.inputs()), e(rows, 1);
  Stream(seed, "x").fill_normal(0, x);
  Stream(seed, "e").fill_normal(0, e);
  RowMatrix y = evaluate(network, x);
  y.array() -= y.mean();
  y /= std::sqrt(y.squaredNorm() / static_cast<double>(rows));
  return memory_samples(x, y + noise * e);
}

// How many units of the network are among the rows (w, b) of V, up to sign.
Index among(const Network& network, const Matrix& V, double tolerance) {
  Index found = 0;
  for (Index i = 0; i < network.hidden(); ++i) {
    Vector unit(network.inputs() + 1);
    unit << network.W().row(i).transpose(), network.b()(i);
    double least = 1e300;
    for (Index j = 0; j < V.rows(); ++j) {
      const Vector v = V.row(j) / V.row(j).head(network.inputs()).norm();
      least = std::min({least, (v - unit).cwiseAbs().maxCoeff(), (v + unit).cwiseAbs().maxCoeff()});
    }
    if (least < tolerance) ++found;
  }
  return found;
}

Control two_threads() {
  Control control;
  control.threads = 2;
  return control;
}

TEST(ResidualRounds, FindsUnitsAHundredfoldApart) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    const Network network = trained_like(12, 12, seed);
    const SamplePtr samples = samples_of(network, 40000, seed);
    const SpectralStart start = stacked_start(samples, {}, two_threads());
    // The point of rounds: one look at the moments does not show the weak units.
    EXPECT_LT(start.V.rows(), network.hidden());
    const Rounds rounds = residual_rounds(start.V, samples, {}, two_threads());
    EXPECT_EQ(rounds.end, RoundsEnd::kExact);
    EXPECT_EQ(among(network, rounds.V, kExactWeights), network.hidden());
    EXPECT_GE(rounds.descent.size(), 2u);
  }
}

// Rounds of ReLUs follow other functions for long: after a few it is asked whether they are of another kind.
TEST(ResidualRounds, EndWhereTheUnitsAreOfAnotherKind) {
  const Index d = 12, k = 24;
  const Matrix W = Stream(1, "W").normal_matrix(k, d) / 2, b = Stream(1, "b").normal_matrix(k, 1);
  RowMatrix x(40000, d);
  Stream(1, "x").fill_normal(0, x);
  const Matrix z = (x * W.transpose()).rowwise() + b.transpose().row(0);
  RowMatrix y = z.array().tanh().matrix() * Stream(1, "A").normal_matrix(k, 1);
  y.array() -= y.mean();
  y /= std::sqrt(y.squaredNorm() / static_cast<double>(y.rows()));
  const SamplePtr samples = memory_samples(x, y);
  RoundsOptions options;
  int asked = 0;
  options.another_kind = [&] { return ++asked > 0; };
  const SpectralStart start = stacked_start(samples, {}, two_threads());
  const Rounds rounds = residual_rounds(start.V, samples, options, two_threads());
  EXPECT_EQ(asked, 1);
  EXPECT_NE(rounds.end, RoundsEnd::kExact);
  EXPECT_GT(rounds.relative_mse, options.exact);
}

TEST(ResidualRounds, NetworksOfReLUsAreExactBeforeItIsAsked) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    const SamplePtr samples = samples_of(trained_like(12, 12, seed), 40000, seed);
    RoundsOptions options;
    options.another_kind = [] {
      ADD_FAILURE() << "asked";
      return false;
    };
    const SpectralStart start = stacked_start(samples, {}, two_threads());
    EXPECT_EQ(residual_rounds(start.V, samples, options, two_threads()).end, RoundsEnd::kExact);
  }
}

// Where rows lie on a device and inputs are many, units are polished on more of them before moments are
// taken.
TEST(ResidualRounds, FindTheSameUnitsOnADevice) {
  const Network network = trained_like(12, 12, 1);
  const SamplePtr samples = samples_of(network, 40000, 1);
  Control control = two_threads();
  control.device = host_device();
  const SamplePtr there = on_device(samples, send_rows(*samples, control));
  for (const Index many : {8, 64}) {  // inputs: 12
    RoundsOptions options;
    options.spectral.most_active = many;
    const Rounds rounds = residual_rounds(stacked_start(there, {}, control).V, there, options, control);
    EXPECT_EQ(rounds.end, RoundsEnd::kExact) << many;
    EXPECT_EQ(among(network, rounds.V, kExactWeights), network.hidden()) << many;
  }
}

TEST(ResidualRounds, KeepNoMoreUnitsThanAsked) {
  const Network network = trained_like(8, 6, 4);
  const SamplePtr samples = samples_of(network, 20000, 4);
  RoundsOptions options;
  options.spectral.hidden = 3;
  const Rounds rounds =
      residual_rounds(stacked_start(samples, {}, two_threads()).V, samples, options, two_threads());
  EXPECT_NE(rounds.end, RoundsEnd::kExact);
  EXPECT_LE(rounds.V.rows(), 3);
}

TEST(ResidualRounds, EndInNoise) {
  Network network = trained_like(6, 3, 5);
  network.A().setOnes();
  const SamplePtr samples = samples_of(network, 20000, 5, 0.1);
  const Rounds rounds =
      residual_rounds(stacked_start(samples, {}, two_threads()).V, samples, {}, two_threads());
  EXPECT_EQ(rounds.end, RoundsEnd::kNoise);
  EXPECT_EQ(among(network, rounds.V, 0.2), 3);
}

TEST(ResidualRounds, LeaveTheStartAloneWithoutUnitsOrRows) {
  const Network network = trained_like(6, 3, 6);
  const SamplePtr few = samples_of(network, 100, 6);
  Matrix V(3, 7);
  V << network.W(), network.b();
  EXPECT_EQ(residual_rounds(V, few, {}, two_threads()).V, V);
  EXPECT_EQ(residual_rounds(Matrix(0, 7), few, {}, two_threads()).V.rows(), 0);
}

TEST(ResidualRounds, StopAtTheDeadline) {
  const SamplePtr samples = samples_of(trained_like(12, 12, 7), 40000, 7);
  Matrix V = Stream(7, "V").normal_matrix(4, 13);
  const Rounds rounds = residual_rounds(V, samples, {}, two_threads().within(0));
  EXPECT_EQ(rounds.end, RoundsEnd::kTime);
  EXPECT_EQ(rounds.V.rows(), 4);
}

}  // namespace
}  // namespace exhume::residual_rounds_test
