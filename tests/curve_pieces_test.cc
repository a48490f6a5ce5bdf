// Units along a curve: one input, cubics of one, and rows that lie along none.
#include "fit/curve_pieces.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "exhume/network.h"

namespace exhume::curve_pieces_test {
namespace {

constexpr double kExactUnits = 1e-9;

Network with_units(const Matrix& W, const Vector& b, std::uint64_t seed) {
  Network network;
  network.W() = W.rowwise().normalized();
  network.b() = b.cwiseQuotient(W.rowwise().norm());
  network.A() = Stream(seed, "A").uniform_vector(b.size(), 0.5, 1.5).transpose();
  network.c() = Vector::Ones(1);
  return network;
}

// The largest distance of a unit of the network to the nearest row of V, up to sign.
double worst(const Network& network, const Matrix& V) {
  double most = 0;
  for (Index i = 0; i < network.hidden(); ++i) {
    Vector unit(network.inputs() + 1);
    unit << network.W().row(i).transpose(), network.b()(i);
    double least = 1e300;
    for (Index j = 0; j < V.rows(); ++j) {
      least = std::min({least, (V.row(j).transpose() - unit).norm(), (V.row(j).transpose() + unit).norm()});
    }
    most = std::max(most, least);
  }
  return most;
}

Matrix found_in(const Network& network, const RowMatrix& x) {
  const SamplePtr samples = memory_samples(x, evaluate(network, x));
  return units_along_curve(*samples, *samples);
}

TEST(CurvePieces, AllKinksOfOneInput) {
  for (const Index k : {1, 2, 6, 12}) {
    SCOPED_TRACE(k);
    Vector b(k);
    for (Index i = 0; i < k; ++i) b(i) = -0.9 + 1.8 * (static_cast<double>(i) + 0.3) / static_cast<double>(k);
    const Network network = with_units(Matrix::Ones(k, 1), b, 1);
    const RowMatrix x = Stream(1, "x").uniform_vector(2000, -1, 1);
    const Matrix V = found_in(network, x);
    EXPECT_EQ(V.rows(), k);
    EXPECT_LT(worst(network, V), kExactUnits);
  }
}

// x = (t, t^2, t^3): units bend where a cubic is zero, the first of them at three places.
TEST(CurvePieces, UnitsOfCubicsOfOneInput) {
  Matrix W(3, 3);
  Vector b(3);
  W << -0.25, 0, 1, 1, 0.2, 0.1, 0.1, 0.3, -1;  // t^3 - t/4, and one zero each
  b << 0, 0.3, 0.2;
  const Network network = with_units(W, b, 2);
  const Vector t = Stream(2, "t").uniform_vector(4000, -1, 1);
  RowMatrix x(4000, 3);
  x << t, t.cwiseAbs2(), t.array().cube().matrix();
  const Matrix V = found_in(network, x);
  EXPECT_EQ(V.rows(), 3);
  EXPECT_LT(worst(network, V), 1e-6);
}

TEST(CurvePieces, NothingOffACurveOrUnderNoise) {
  RowMatrix x(2000, 3), e(2000, 1);
  Stream(3, "x").fill_normal(0, x);
  Stream(3, "e").fill_normal(0, e);
  Network network = with_units(Stream(3, "W").normal_matrix(4, 3), Vector::Zero(4), 3);
  EXPECT_EQ(found_in(network, x).rows(), 0);
  network = with_units(Matrix::Ones(2, 1), Vector::LinSpaced(2, -0.5, 0.5), 3);
  const RowMatrix line = x.col(0);
  const SamplePtr noisy = memory_samples(line, evaluate(network, line) + 0.01 * e);
  EXPECT_EQ(units_along_curve(*noisy, *noisy).rows(), 0);
}

TEST(CurvePieces, FewRows) {
  const Network network = with_units(Matrix::Ones(1, 1), Vector::Zero(1), 4);
  for (const Index n : {0, 1, 2, 5}) {
    EXPECT_EQ(found_in(network, RowMatrix(Vector::LinSpaced(n, -1, 1))).rows(), 0) << n;
  }
}

}  // namespace
}  // namespace exhume::curve_pieces_test
