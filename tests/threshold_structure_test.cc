#include "papers/threshold/structure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "exhume/error.h"
#include "linalg/symmetric_matrix.h"
#include "papers/threshold/detectors.h"
#include "papers/threshold/models.h"
#include "papers/threshold/unit_fit.h"
#include "refusal.h"

namespace exhume::threshold_structure_test {
namespace {

using GroupList = std::vector<std::vector<Index>>;

TEST(Groups, OfIntegerCorrelationsAreExact) {
  Matrix C = Matrix::Zero(7, 7);
  const GroupList truth{{0, 3, 5}, {1, 2, 6}};
  for (const auto& group : truth) {
    for (const Index i : group) {
      for (const Index j : group) C(i, j) = 10;
    }
  }
  EXPECT_EQ(groups_of(C).groups, truth);  // coordinate 4 belongs to none
  EXPECT_NEAR(groups_of(C).gap, 1, 1e-15);
  EXPECT_NEAR(groups_of(C).contrast, 1, 1e-15);
  C(0, 1) = C(1, 0) = 11;  // an edge across: no longer cliques
  EXPECT_LE(groups_of(C).contrast, 0);
}

// exp(rho (sum of the group) - rho t), linear terms and a few products.
ThresholdModel exponential(Index groups, Index size, double rho, double t, double products) {
  ThresholdModel model;
  model.W = Matrix::Zero(groups, groups * size);
  for (Index i = 0; i < groups * size; ++i) model.W(i % groups, i) = rho;
  model.t = Vector::Constant(groups, rho * t);
  model.activation = UnitActivation::kExponential;
  PolynomialTop top;
  for (Index i = 0; i < groups; ++i) {
    top.terms.push_back({1, {{i, 1}}});
    for (Index j = 0; j < i; ++j) top.terms.push_back({products, {{i, 1}, {j, 1}}});
  }
  model.upper = top;
  return model;
}

GroupList strided(Index groups, Index size) {
  GroupList out(static_cast<std::size_t>(groups));
  for (Index i = 0; i < groups * size; ++i) out[static_cast<std::size_t>(i % groups)].push_back(i);
  return out;
}

TEST(Theorem8, GroupsAreExact) {
  const SamplePtr samples =
      threshold_samples(exponential(4, 6, 0.4, 4, 0.1), {.samples = 100000, .seed = 21});
  EXPECT_EQ(correlation_groups(samples).groups, strided(4, 6));
}

TEST(Theorem9, GroupsAreExact) {
  const SamplePtr samples = threshold_samples(exponential(3, 4, 1, 0, 0.02), {.samples = 200000, .seed = 22});
  EXPECT_EQ(exponential_groups(samples).groups, strided(3, 4));
}

TEST(Theorem9, NegativeOutputsAreRefused) {
  ThresholdModel model = exponential(2, 2, 1, 0, 0);
  std::get<PolynomialTop>(model.upper).constant = -5;
  const SamplePtr samples = threshold_samples(model, {.samples = 5000, .seed = 23});
  expect_refused<DataError>([&] { (void)exponential_groups(samples); }, {"negative", "Theorem 9"});
}

TEST(Theorem10, PopulationMomentsGiveTheDirections) {
  const Matrix W = orthonormal_directions(5, 5, 24);
  const Matrix K = rank_one_coordinates(W.transpose());
  const Matrix maxima = K * Vector::LinSpaced(5, 1, 2).asDiagonal() * K.transpose();
  const EvenDirections up = even_directions(maxima, 5, 5, 24);
  EXPECT_EQ(up.sign, 1);
  ASSERT_EQ(up.directions.cols(), 5);
  const Matrix cosines = (W * up.directions).cwiseAbs();
  for (Index i = 0; i < 5; ++i) EXPECT_NEAR(cosines.row(i).maxCoeff(), 1, 1e-9);
}

// f of even units with all products, W orthonormal.
ThresholdModel even_model(UnitActivation u, Index d, Index k, double products, std::uint64_t seed) {
  ThresholdModel model;
  model.W = orthonormal_directions(k, d, seed);
  model.t = Vector::Zero(k);
  model.activation = u;
  PolynomialTop top;
  const Vector c = Stream(seed, "even").uniform_vector(k * k, 0.5, 1.5);
  for (Index i = 0; i < k; ++i) {
    top.terms.push_back({c(i), {{i, 1}}});
    for (Index j = 0; j < i; ++j) top.terms.push_back({products * c(k * i + j), {{i, 1}, {j, 1}}});
  }
  model.upper = top;
  return model;
}

double worst_angle(const Matrix& W, const Matrix& directions) {
  if (directions.cols() == 0) return 2;
  const Matrix cosines = (W * directions).cwiseAbs();
  return std::acos(std::min(1.0, cosines.rowwise().maxCoeff().minCoeff()));
}

TEST(Theorem10, SquaresAndAbsoluteValuesComeBackFromSamples) {
  for (const UnitActivation u : {UnitActivation::kSquare, UnitActivation::kAbsolute}) {
    for (const Index k : {4, 3}) {
      const ThresholdModel model = even_model(u, 4, k, 0.5, 28);
      const EvenDirections found =
          even_directions(load(*threshold_samples(model, {.samples = 30000, .seed = 28})), k, 28);
      // acos of a cosine near 1 has seven digits.
      EXPECT_LT(worst_angle(model.W, found.directions), 1e-7) << to_string(u) << ' ' << k;
      EXPECT_LT(found.misfit, 1e-12);
    }
  }
}

TEST(Theorem10, SquaresWithoutProductsAreTheEigenvectorsOfOrderTwo) {
  const ThresholdModel model = even_model(UnitActivation::kSquare, 5, 5, 0, 29);
  const EvenDirections found =
      even_directions(load(*threshold_samples(model, {.samples = 20000, .seed = 29})), 5, 29);
  EXPECT_LT(worst_angle(model.W, found.directions), 1e-7);
}

TEST(Theorem10, AnyEvenActivation) {
  // u(a) = cos a: in no basis that is used, so only close.
  const Matrix W = orthonormal_directions(4, 4, 30);
  const RowMatrix x = Stream(30, "x").normal_matrix(60000, 4);
  const RowMatrix X = (x * W.transpose()).array().cos();
  RowMatrix y = X * Vector{{1, 0.8, 1.2, 0.9}};
  y.array() += 0.3 * X.col(0).array() * X.col(2).array();
  const EvenDirections found = even_directions(memory_samples(x, y), 4, 30);
  EXPECT_LT(worst_angle(W, found.directions), 0.01);
}

TEST(Theorem10, OddFunctionsAreNotExplained) {
  const RowMatrix x = Stream(31, "x").normal_matrix(30000, 3);
  const RowMatrix y = x.col(0).array().cube() + x.col(1).array() * x.col(2).array() * x.col(0).array();
  EXPECT_GT(even_directions(memory_samples(x, y), 3, 31).misfit, 0.5);
  expect_refused<std::invalid_argument>([&] { (void)even_directions(memory_samples(x, y), 4, 31); },
                                        {"k is 4", "3"});
}

TEST(Detectors, AJumpIsSeenAndASlopeIsNot) {
  // f = 1[x_0 > 1] + x_1: a jump along the first axis, none along the second.
  RowMatrix x(200000, 3);
  Stream(25, "x").fill_normal(0, x);
  RowMatrix y(200000, 1);
  for (Index r = 0; r < x.rows(); ++r) y(r, 0) = (x(r, 0) > 1 ? 1 : 0) + x(r, 1);
  const SamplePtr samples = memory_samples(x, y);
  const Detection seen = detect(*samples, Detector::kStep, Matrix::Identity(3, 3), Vector::Ones(3), 0.1);
  EXPECT_NEAR(seen.value(0), 1, 5 * seen.error(0));
  EXPECT_GT(seen.score()(0), 15);
  EXPECT_LT(std::abs(seen.score()(1)), 5);
  EXPECT_LT(std::abs(seen.score()(2)), 5);
}

TEST(Detectors, AKinkIsSeenAndAParabolaIsSmall) {
  RowMatrix x(400000, 2);
  Stream(26, "x").fill_normal(0, x);
  RowMatrix y(400000, 1);
  constexpr double kCurvature = 0.2, kWidth = 0.25;
  for (Index r = 0; r < x.rows(); ++r) {
    y(r, 0) = 2 * std::max(x(r, 0) - 1, 0.0) + kCurvature * x(r, 1) * x(r, 1) / 2;
  }
  const SamplePtr samples = memory_samples(x, y);
  const Detection seen = detect(*samples, Detector::kKink, Matrix::Identity(2, 2), Vector::Ones(2), kWidth);
  // Slab means weigh rows by the density, which falls by a tenth over half a slab: up to O(width) of the
  // value.
  EXPECT_NEAR(seen.value(0), 2, 2 * kWidth * kWidth + 5 * seen.error(0));
  // A smooth function gives 2 f'' e (detectors.h), here 0.1: a twentieth of the kink. Five standard errors.
  EXPECT_NEAR(seen.value(1), 2 * kCurvature * kWidth, 5 * seen.error(1) + kCurvature * kWidth * kWidth);
  EXPECT_LT(seen.error(1), 0.1);
}

TEST(Detectors, TheClimbEndsAtTheDirection) {
  for (const std::uint64_t seed : {27u, 127u, 227u}) {
    const ThresholdModel model = plant(ThresholdPlan{.inputs = 4,
                                                     .hidden = 4,
                                                     .activation = UnitActivation::kSign,
                                                     .threshold = 1,
                                                     .upper = UpperKind::kPairs,
                                                     .seed = seed});
    const SamplePtr samples = load(*threshold_samples(model, {.samples = 300000, .seed = seed}));
    const Vector w = model.W.row(0);
    const Vector start = (w + 0.2 * complement(w).col(1)).normalized();
    const Detected found = climb_detector(*samples, Detector::kStep, start, 1.05);
    EXPECT_LT(std::acos(std::min(1.0, found.direction.dot(w))), 0.03);
    EXPECT_NEAR(found.threshold, 1, 0.03);
    EXPECT_GT(found.value / found.error, 6);
  }
}

TEST(Detectors, TheClimbFindsAKink) {
  const ThresholdModel model = plant(
      ThresholdPlan{.inputs = 4, .hidden = 4, .threshold = 1, .upper = UpperKind::kProducts, .seed = 32});
  const SamplePtr samples = load(*threshold_samples(model, {.samples = 300000, .seed = 32}));
  const Vector w = model.W.row(0);
  const Detected found = climb_detector(*samples, Detector::kKink,
                                        (w + 0.2 * complement(w).col(1)).normalized(), 1.05, {.width = 0.25});
  EXPECT_LT(std::acos(std::min(1.0, found.direction.dot(w))), 0.1);
  EXPECT_NEAR(found.threshold, 1, 0.1);
}

TEST(Detectors, RefuseWhatDoesNotFit) {
  const SamplePtr samples = memory_samples(RowMatrix::Zero(10, 2), RowMatrix::Zero(10, 1));
  expect_refused<std::invalid_argument>(
      [&] { (void)detect(*samples, Detector::kStep, Matrix::Identity(3, 3), Vector::Ones(3), 0.1); },
      {"3 x 3", "2 inputs"});
  expect_refused<std::invalid_argument>(
      [&] { (void)detect(*samples, Detector::kStep, Matrix::Identity(2, 2), Vector::Ones(2), 0); },
      {"width 0"});
}

}  // namespace
}  // namespace exhume::threshold_structure_test
