#include "papers/threshold/objectives.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "linalg/symmetric_matrix.h"
#include "papers/threshold/models.h"
#include "refusal.h"

namespace exhume::threshold_objectives_test {
namespace {

// Population moments of sum_i c_i relu(w_i.x - t): orders 2 and 4 have coefficients phi(t) and (t^2 - 1)
// phi(t).
struct Population {
  Matrix order2, order4;
};
Population population(const Matrix& W, const Vector& c, double t) {
  const double phi = std::exp(-0.5 * t * t) / std::sqrt(2 * M_PI);
  const Matrix K = rank_one_coordinates(W.transpose());
  return {K * (phi * c), K * (phi * (t * t - 1) * c).asDiagonal() * K.transpose()};
}

// Largest distance of a row of W from the nearest +- column.
double worst(const Matrix& W, const Matrix& columns) {
  double out = 0;
  for (Index i = 0; i < W.rows(); ++i) {
    double best = INFINITY;
    for (Index j = 0; j < columns.cols(); ++j) {
      const Vector w = W.row(i);
      best = std::min({best, (w - columns.col(j)).norm(), (w + columns.col(j)).norm()});
    }
    out = std::max(out, best);
  }
  return out;
}

class ExactPopulation : public ::testing::TestWithParam<std::tuple<Index, Index, double>> {};

TEST_P(ExactPopulation, BothObjectivesGiveTheWeights) {
  const auto [d, k, sign] = GetParam();
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Matrix W = spread_directions(k, d, 0.6, seed);
    const Vector c = sign * Stream(seed, "c").uniform_vector(k, 0.5, 1.5);
    const Population p = population(W, c, 2);
    const Matrix first = one_by_one(p.order2, p.order4, k, {.seed = seed});
    ASSERT_EQ(first.cols(), k) << "seed " << seed;
    EXPECT_LT(worst(W, first), 1e-8) << "one by one, seed " << seed;
    const Matrix second = simultaneous(p.order2, p.order4, k, {.seed = seed});
    EXPECT_LT(worst(W, second), 1e-8) << "simultaneous, seed " << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, ExactPopulation,
                         ::testing::Values(std::tuple<Index, Index, double>{2, 2, 1},
                                           std::tuple<Index, Index, double>{6, 6, 1},
                                           std::tuple<Index, Index, double>{7, 4, 1},
                                           std::tuple<Index, Index, double>{5, 5, -1},
                                           std::tuple<Index, Index, double>{4, 1, 1}));

// Central differences of the value and of the gradient.
void expect_derivatives(const SmoothFunction& f, const Vector& at) {
  constexpr double kStep = 1e-5;
  const SecondOrderModel here = f(at);
  for (Index i = 0; i < at.size(); ++i) {
    Vector up = at, down = at;
    up(i) += kStep;
    down(i) -= kStep;
    const SecondOrderModel above = f(up), below = f(down);
    EXPECT_NEAR(here.gradient(i), (above.value - below.value) / (2 * kStep),
                1e-7 * (1 + here.gradient.norm()));
    const Vector column = (above.gradient - below.gradient) / (2 * kStep);
    EXPECT_LT((here.hessian.col(i) - column).norm(), 1e-7 * (1 + here.hessian.norm()));
  }
}

TEST(Objectives, DerivativesAreThoseOfTheValue) {
  const Matrix W = spread_directions(4, 4, 0.5, 9);
  const Population p = population(W, Vector::LinSpaced(4, 0.5, 2), 1.7);
  for (const double sign : {1.0, -1.0}) {
    const LandscapeMoments moments{from_coordinates(p.order2.col(0)), p.order4, sign};
    const Vector z = Stream(9, "z").normal_matrix(4, 1);
    expect_derivatives([&](const Vector& at) { return one_by_one_model(moments, 3, 0.7, at); }, z);
    const Vector Z = Stream(9, "Z").normal_matrix(12, 1);
    expect_derivatives([&](const Vector& at) { return simultaneous_model(moments, 3, 0.01, 0.7, 3, at); }, Z);
  }
}

TEST(Objectives, RefuseMoreDirectionsThanInputs) {
  const Population p = population(spread_directions(3, 3, 0.5, 1), Vector::Ones(3), 2);
  expect_refused<std::invalid_argument>([&] { (void)one_by_one(p.order2, p.order4, 4); },
                                        {"3", "4", "tensor"});
}

TEST(TrustRegion, LeavesASaddleAndEndsInAMinimum) {
  // f = (x^2 - 1)^2 + y^2 from the saddle at the origin: the gradient there is zero.
  const auto f = [](const Vector& v) {
    const double x = v(0), y = v(1);
    SecondOrderModel out;
    out.value = (x * x - 1) * (x * x - 1) + y * y;
    out.gradient = Vector{{4 * x * (x * x - 1), 2 * y}};
    out.hessian = Matrix{{12 * x * x - 4, 0}, {0, 2}};
    return out;
  };
  const LocalMinimum found = minimise(f, Vector::Zero(2));
  EXPECT_NEAR(std::abs(found.at(0)), 1, 1e-9);
  EXPECT_NEAR(found.at(1), 0, 1e-9);
  EXPECT_GT(found.least_curvature, 1);
}

TEST(TrustRegion, AQuadraticTakesItsNewtonStep) {
  const Matrix H{{4, 1}, {1, 3}};
  const Vector b{{1, 2}};
  const auto f = [&](const Vector& v) {
    return SecondOrderModel{0.5 * v.dot(H * v) - b.dot(v), H * v - b, H};
  };
  const LocalMinimum found = minimise(f, Vector{{0.3, 0.3}}, {.radius = 10});
  EXPECT_TRUE(found.converged);
  EXPECT_LT((H * found.at - b).norm(), 1e-12);
}

}  // namespace
}  // namespace exhume::threshold_objectives_test
