#include "papers/threshold/models.h"

#include <gtest/gtest.h>

#include <cmath>

#include "refusal.h"

namespace exhume::threshold_models_test {
namespace {

ThresholdModel axes(UnitActivation activation) {
  ThresholdModel model;
  model.W = Matrix::Identity(3, 3);
  model.t = Vector{{1, 1, 2}};
  model.activation = activation;
  return model;
}

TEST(ThresholdModel, PolynomialOnIntegersIsExact) {
  ThresholdModel model = axes(UnitActivation::kRelu);
  model.upper = PolynomialTop{5, {{2, {{0, 1}}}, {-3, {{0, 2}, {1, 1}}}, {7, {{2, 3}}}}};
  EXPECT_EQ(model(Vector{{0, 0, 0}}), 5);
  EXPECT_EQ(model(Vector{{4, 0, 0}}), 5 + 2 * 3);
  EXPECT_EQ(model(Vector{{4, 3, 4}}), 5 + 2 * 3 - 3 * 9 * 2 + 7 * 8);
}

TEST(ThresholdModel, UnionAndIntersectionAreComplements) {
  ThresholdModel either = axes(UnitActivation::kSign), all = either;
  either.upper = GateTop::kUnion;
  all.upper = GateTop::kIntersection;
  for (const Vector& x : {Vector{{0, 0, 0}}, Vector{{2, 0, 0}}, Vector{{1, 1, 2}}, Vector{{0, 0, 3}}}) {
    EXPECT_EQ(either(x) + all(x), 1);
  }
  EXPECT_EQ(either(Vector{{1, 1, 2}}), 0);  // on the planes nothing is active
}

TEST(ThresholdModel, DeepUpperPartIsANetworkOfSigmoids) {
  ThresholdModel model = axes(UnitActivation::kRelu);
  LayersTop layers;
  layers.W = {Matrix::Zero(2, 3), Matrix{{1, -1}}};
  layers.b = {Vector{{0, 100}}, Vector::Zero(1)};
  model.upper = layers;
  model.validate();
  EXPECT_NEAR(model(Vector::Zero(3)), 1 / (1 + std::exp(0.5)), 1e-15);  // sigmoid(0.5 - 1)
}

TEST(ThresholdModel, RowsDoNotDependOnTheBlock) {
  const ThresholdModel model =
      plant(ThresholdPlan{.inputs = 6, .hidden = 4, .upper = UpperKind::kUnion, .seed = 3});
  const SamplePtr samples = threshold_samples(model, {.samples = 5000, .flips = 0.1, .seed = 3});
  SampleBlock whole, part;
  samples->read(0, 500, whole);
  for (const Index first : {0, 1, 77, 255}) {
    samples->read(first, 33, part);
    EXPECT_EQ(RowMatrix(part.x()), RowMatrix(whole.x().middleRows(first, 33)));
    EXPECT_EQ(RowMatrix(part.y()), RowMatrix(whole.y().middleRows(first, 33)));
  }
}

TEST(ThresholdModel, FlipsTurnTheRightShareOfLabels) {
  const ThresholdModel model =
      plant(ThresholdPlan{.activation = UnitActivation::kSign, .upper = UpperKind::kUnion, .seed = 4});
  SampleBlock clean, turned;
  threshold_samples(model, {.samples = 40000, .seed = 4})->read(0, 40000, clean);
  threshold_samples(model, {.samples = 40000, .flips = 0.1, .seed = 4})->read(0, 40000, turned);
  EXPECT_EQ(RowMatrix(clean.x()), RowMatrix(turned.x()));
  const double share = (clean.y() - turned.y()).cwiseAbs().mean();
  EXPECT_NEAR(share, 0.1, 6 * std::sqrt(0.09 / 40000));
}

TEST(ThresholdModel, DirectionsAreAsAskedFor) {
  const Matrix Q = orthonormal_directions(4, 7, 5);
  EXPECT_LT((Q * Q.transpose() - Matrix::Identity(4, 4)).norm(), 1e-14);
  const Matrix W = spread_directions(10, 10, M_PI / 3, 5);
  Matrix gram = W * W.transpose();
  EXPECT_LT((gram.diagonal() - Vector::Ones(10)).norm(), 1e-14);
  gram.diagonal().setZero();
  EXPECT_LE(gram.maxCoeff(), 0.5 + 1e-12);
}

TEST(ThresholdModel, BiasedSamplesWeighRowsByF) {
  // E[f h]/E[f] with f = 1[x_0 > 1]: every kept row has x_0 > 1.
  ThresholdModel model;
  model.W = Matrix{{1, 0}};
  model.t = Vector::Ones(1);
  model.activation = UnitActivation::kSign;
  model.upper = PolynomialTop{0, {{1, {{0, 1}}}}};
  const SamplePtr samples = biased_samples(model, 500, 6);
  ASSERT_EQ(samples->rows(), 500);
  SampleBlock block;
  samples->read(0, 500, block);
  EXPECT_GT(block.x().col(0).minCoeff(), 1);
  EXPECT_EQ(block.y().minCoeff(), 1);  // f itself
  EXPECT_NEAR(block.x().col(1).mean(), 0, 6 / std::sqrt(500.0));
}

TEST(ThresholdModel, Refusals) {
  expect_refused<std::invalid_argument>([] { (void)orthonormal_directions(4, 3, 0); }, {"4", "R^3"});
  expect_refused<std::invalid_argument>([] { (void)spread_directions(5, 2, 1.5, 0); }, {"fewer directions"});
  expect_refused<std::invalid_argument>([] { (void)plant(ThresholdPlan{.inputs = 0}); }, {"inputs", "0"});
  expect_refused<std::invalid_argument>([] { (void)parse_upper("tower"); }, {"tower", "intersection"});
  expect_refused<std::invalid_argument>([] { (void)parse_unit_activation("step"); }, {"step", "sign"});
  const ThresholdModel model = plant(ThresholdPlan{});
  expect_refused<std::invalid_argument>([&] { (void)threshold_samples(model, {.flips = 0.1}); },
                                        {"flips", "labels"});
  expect_refused<std::invalid_argument>([&] { (void)threshold_samples(model, {.samples = 0}); },
                                        {"samples", "0"});
  ThresholdModel bad = model;
  bad.t.resize(3);
  expect_refused<std::invalid_argument>([&] { bad.validate(); }, {"10 x 10", "3"});
}

}  // namespace
}  // namespace exhume::threshold_models_test
