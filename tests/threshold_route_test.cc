#include "exhume/papers/threshold.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "base/random.h"
#include "exhume/error.h"
#include "exhume/network.h"
#include "papers/threshold/alone.h"
#include "papers/threshold/models.h"
#include "papers/threshold/profiles.h"
#include "papers/threshold/step_one.h"
#include "refusal.h"

namespace exhume::threshold_route_test {
namespace {

struct Match {
  double angle = 0, threshold = 0;
};

// Worst angle and threshold error after the best matching; 4 for a unit that was not found.
Match match(const LowestLayerResult& found, const ThresholdModel& truth) {
  const Index k = std::max(found.layer.W.rows(), truth.W.rows());
  Matrix cost = Matrix::Constant(k, k, 4);
  for (Index i = 0; i < truth.W.rows(); ++i) {
    for (Index j = 0; j < found.layer.W.rows(); ++j) {
      cost(i, j) = 2 * std::atan2((truth.W.row(i) - found.layer.W.row(j)).norm(),
                                  (truth.W.row(i) + found.layer.W.row(j)).norm());
    }
  }
  const std::vector<Index> column = optimal_assignment(cost);
  Match out;
  for (Index i = 0; i < truth.W.rows(); ++i) {
    const Index j = column[static_cast<std::size_t>(i)];
    out.angle = std::max(out.angle, cost(i, j));
    if (j < found.layer.W.rows())
      out.threshold = std::max(out.threshold, std::abs(found.layer.t(j) - truth.t(i)));
  }
  return out;
}

Control two_threads() {
  Control control;
  control.threads = 2;
  return control;
}

TEST(LowestLayer, ReluUnderProductsIsExact) {
  for (const std::uint64_t seed : {31u, 32u}) {
    const ThresholdModel model =
        plant(ThresholdPlan{.inputs = 6, .hidden = 5, .threshold = 1.8, .seed = seed});
    const LowestLayerResult found = lowest_layer(threshold_samples(model, {.samples = 100000, .seed = seed}),
                                                 {.hidden = 5, .seed = seed}, two_threads());
    const Match m = match(found, model);
    EXPECT_LT(m.angle, 1e-9) << "seed " << seed;
    EXPECT_LT(m.threshold, 1e-9);
    EXPECT_EQ(found.certificate.status, Status::kCertified) << found.certificate.reason;
    EXPECT_EQ(found.layer.activation, LowestActivation::kRelu);
  }
}

TEST(LowestLayer, SamplesInOtherCoordinatesGiveTheSameLayer) {
  // x = S z + mu with a Gaussian z: thresholds and directions come back in the coordinates of x.
  const ThresholdModel inner = plant(ThresholdPlan{.inputs = 4, .hidden = 3, .threshold = 1.8, .seed = 33});
  Matrix S = Matrix::Identity(4, 4);
  S(0, 1) = 0.5;
  S(2, 2) = 2;
  const Vector mu = Vector::LinSpaced(4, -1, 2);
  const SamplePtr moved = affine(threshold_samples(inner, {.samples = 100000, .seed = 33}),
                                 {S, -S.inverse() * mu, Vector::Ones(1), Vector::Zero(1)});
  ThresholdModel outer = inner;
  outer.W = inner.W * S.inverse();
  outer.t = inner.t + outer.W * mu;
  for (Index i = 0; i < 3; ++i) {
    const double norm = outer.W.row(i).norm();
    outer.W.row(i) /= norm;
    outer.t(i) /= norm;
  }
  const LowestLayerResult found = lowest_layer(moved, {.hidden = 3, .seed = 33}, two_threads());
  EXPECT_LT(match(found, outer).angle, 1e-8);
  EXPECT_LT(match(found, outer).threshold, 1e-8);
}

TEST(LowestLayer, DeepUpperPart) {
  const ThresholdModel model = plant(ThresholdPlan{
      .inputs = 6, .hidden = 4, .least_angle = 1, .upper = UpperKind::kDeep, .width = 4, .seed = 34});
  const LowestLayerResult found = lowest_layer(threshold_samples(model, {.samples = 200000, .seed = 34}),
                                               {.hidden = 4, .seed = 34}, two_threads());
  EXPECT_LT(match(found, model).angle, 0.01);
}

TEST(LowestLayer, ThresholdZeroIsNotCertifiedAndTheReasonNamesIt) {
  const ThresholdModel model = plant(ThresholdPlan{.inputs = 6, .hidden = 6, .threshold = 0, .seed = 35});
  const LowestLayerResult found = lowest_layer(threshold_samples(model, {.samples = 60000, .seed = 35}),
                                               {.hidden = 6, .seed = 35}, two_threads());
  EXPECT_EQ(found.certificate.status, Status::kUncertified);
  EXPECT_NE(found.certificate.reason.find("thresholds are high"), std::string::npos)
      << found.certificate.reason;
}

TEST(LowestLayer, CorrelatedWeightsAreNotCertifiedAndTheReasonNamesThem) {
  ThresholdModel model = plant(ThresholdPlan{.inputs = 6, .hidden = 6, .threshold = 2, .seed = 36});
  const Eigen::RowVectorXd axis = model.W.colwise().sum();
  for (Index i = 0; i < 6; ++i) model.W.row(i) = (axis + model.W.row(i)).normalized();
  const LowestLayerResult found = lowest_layer(threshold_samples(model, {.samples = 100000, .seed = 36}),
                                               {.hidden = 6, .seed = 36}, two_threads());
  EXPECT_EQ(found.certificate.status, Status::kUncertified);
  const bool named = found.certificate.reason.find("directions are apart") != std::string::npos ||
                     found.certificate.reason.find("nonlinear part is small") != std::string::npos;
  EXPECT_TRUE(named) << found.certificate.reason;
}

TEST(LowestLayer, TheSecondLookHalvesTheErrorOfStepOne) {
  const ThresholdModel model = plant(ThresholdPlan{.linear_low = -1, .linear_high = 1, .seed = 37});
  const SamplePtr samples = load(*threshold_samples(model, {.samples = 300000, .seed = 37}));
  const RestLevel rest = rest_level(*samples);
  double error[2];
  for (const bool second : {false, true}) {
    const StepOne found =
        step_one(samples, rest, {.hidden = 10, .second_look = second, .seed = 37}, two_threads());
    LowestLayerResult as_result;
    as_result.layer.W = found.found.units.W;
    as_result.layer.t = found.found.units.t;
    error[second] = match(as_result, model).angle;
  }
  EXPECT_LT(error[1], 0.08);
  EXPECT_LT(error[1], 0.75 * error[0]);
}

TEST(LowestLayer, NothingFoundIsSaidQuietly) {
  // Outputs that do not depend on the inputs: no certificate, no message from BLAS about empty matrices.
  int empty = 0;
  for (std::uint64_t seed = 38; seed < 44; ++seed) {
    const RowMatrix x = Stream(seed, "x").normal_matrix(5000, 4),
                    y = Stream(seed, "y").normal_matrix(5000, 1);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const LowestLayerResult found = lowest_layer(memory_samples(x, y), {}, two_threads());
    EXPECT_EQ(::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(found.certificate.status, Status::kUncertified);
    if (found.layer.start.rows() > 0) continue;
    ++empty;
    EXPECT_EQ(found.layer.W.rows(), 0);
    EXPECT_NE(found.certificate.reason.find("high thresholds"), std::string::npos)
        << found.certificate.reason;
  }
  EXPECT_GT(empty, 0);
}

TEST(LowestLayer, FeaturesAreTheUnits) {
  const Matrix W{{1, 0}, {0, 1}};
  const Vector t{{1, 2}};
  const RowMatrix x{{3, 1}, {0, 5}};
  EXPECT_EQ(lowest_layer_features(W, t, LowestActivation::kRelu, x), (RowMatrix{{2, 0}, {0, 3}}));
  EXPECT_EQ(lowest_layer_features(W, t, LowestActivation::kSign, x), (RowMatrix{{1, 0}, {0, 1}}));
}

TEST(LowestLayer, BadDataIsRefused) {
  expect_refused<DataError>(
      [] { (void)lowest_layer(memory_samples(RowMatrix::Random(9000, 3), RowMatrix::Random(9000, 2)), {}); },
      {"one output", "2"});
  expect_refused<DataError>(
      [] { (void)lowest_layer(memory_samples(RowMatrix::Random(50, 3), RowMatrix::Random(50, 1)), {}); },
      {"50", "300"});
  expect_refused<std::invalid_argument>(
      [] {
        (void)lowest_layer(memory_samples(RowMatrix::Random(9000, 3), RowMatrix::Random(9000, 1)),
                           {.hidden = 0});
      },
      {"hidden is 0"});
}

TEST(Halfspaces, AnIntersectionComesBackWithItsOffsets) {
  const ThresholdModel model = plant(ThresholdPlan{.inputs = 5,
                                                   .hidden = 4,
                                                   .activation = UnitActivation::kSign,
                                                   .threshold = 1.9,
                                                   .threshold_spread = 0.2,
                                                   .least_angle = 1.2,
                                                   .upper = UpperKind::kIntersection,
                                                   .seed = 41});
  for (const double flips : {0.0, 0.01}) {
    const LowestLayerResult found =
        halfspaces(threshold_samples(model, {.samples = 300000, .flips = flips, .seed = 41}),
                   {.hidden = 4, .seed = 41}, two_threads());
    EXPECT_TRUE(found.set->intersection);
    EXPECT_LT(match(found, model).angle, 0.02) << flips;
    EXPECT_LT(match(found, model).threshold, 0.02) << flips;
    EXPECT_NEAR(found.set->flip_rate, flips, 0.003);
    EXPECT_EQ(found.certificate.status, Status::kCertified) << found.certificate.reason;
    SampleBlock fresh;
    threshold_samples(model, {.samples = 50000, .seed = 4100})->read(0, 50000, fresh);
    const Vector labels = halfspace_labels(found.layer, *found.set, fresh.x());
    EXPECT_GT((labels.array() == fresh.y().col(0).array()).cast<double>().mean(), 0.995);
  }
}

TEST(Halfspaces, ABoxHasTwoForEveryDirection) {
  ThresholdModel model;
  const Matrix axes = orthonormal_directions(3, 3, 42);
  model.W.resize(6, 3);
  model.W << axes, -axes;
  model.t = Vector{{1.8, 2, 2.2, 1.9, 2.1, 2}};
  model.activation = UnitActivation::kSign;
  model.upper = GateTop::kIntersection;
  const LowestLayerResult found = halfspaces(threshold_samples(model, {.samples = 200000, .seed = 42}),
                                             {.hidden = 6, .seed = 42}, two_threads());
  EXPECT_EQ(found.certificate.status, Status::kCertified) << found.certificate.reason;
  EXPECT_LT(match(found, model).angle, 0.01);
  EXPECT_LT(match(found, model).threshold, 0.01);
}

TEST(Halfspaces, SidesAreRightWhereAnotherUnitIsNearlyOpposite) {
  // At 140 degrees the second puts more activity on the back of the first than the first on its own front.
  ThresholdModel model;
  const double a = 140 * M_PI / 180;
  model.W = Matrix{{1, 0, 0}, {std::cos(a), std::sin(a), 0}, {0, 0, 1}};
  model.t = Vector{{2.3, 1.9, 2.2}};
  model.activation = UnitActivation::kSign;
  model.upper = GateTop::kUnion;
  const SamplePtr samples = load(*threshold_samples(model, {.samples = 300000, .seed = 43}));
  const RestLevel rest = rest_level(*samples);
  const Oriented found = orient(*samples, -model.W.transpose(), rest, two_threads());
  ASSERT_EQ(found.units.W.rows(), 3);
  EXPECT_LT((found.units.W - model.W).norm(), 1e-12);
  EXPECT_LT((found.units.t - model.t).cwiseAbs().maxCoeff(), 0.1);
}

TEST(Halfspaces, OtherOutputsAreRefused) {
  RowMatrix x = RowMatrix::Random(5000, 3), y = RowMatrix::Zero(5000, 1);
  expect_refused<DataError>([&] { (void)halfspaces(memory_samples(x, y), {}); }, {"all labels are 0"});
  y(7, 0) = 1;
  y(9, 0) = 2;
  expect_refused<DataError>([&] { (void)halfspaces(memory_samples(x, y), {}); }, {"more than two values"});
}

TEST(LowestLayer, HeldOutRowsAreNeverCopiesOfTrainingRowsNorInTheirCoordinates) {
  ThresholdPlan plan;
  plan.inputs = 5;
  plan.hidden = 3;
  plan.threshold = 1.8;
  plan.seed = 77;
  const SamplePtr once = load(*threshold_samples(plant(plan), {.samples = 40000, .seed = 77}));
  SampleBlock block;
  once->read(0, once->rows(), block);
  RowMatrix x(2 * once->rows(), 5), y(2 * once->rows(), 1);
  x << block.x(), block.x();
  y << block.y(), block.y();
  const LowestLayerResult twice = lowest_layer(memory_samples(x, y), {});
  EXPECT_EQ(twice.certificate.rows, 80000);
  EXPECT_EQ(twice.certificate.samples, 40000);
  EXPECT_EQ(twice.certificate.held_out, 2000);
  // Held-out inputs that are moved far away change what is said of them, but not the layer.
  const LowestLayerResult plain = lowest_layer(once, {});
  RowMatrix moved_x = block.x();
  const RowMatrix moved_y = block.y();
  const SamplePtr held_out = split(once, plain.certificate.held_out_period, plain.certificate.seed).held_out;
  SampleBlock rows;
  held_out->read(0, held_out->rows(), rows);
  Index next = 0;
  for (Index i = 0; i < moved_x.rows() && next < rows.rows(); ++i) {
    if (moved_x.row(i) != rows.x().row(next)) continue;
    moved_x.row(i).array() += 100;
    ++next;
  }
  ASSERT_EQ(next, rows.rows());
  const LowestLayerResult moved = lowest_layer(memory_samples(moved_x, moved_y), {});
  EXPECT_EQ(moved.layer.W, plain.layer.W);
  EXPECT_EQ(moved.layer.t, plain.layer.t);
}

TEST(Halfspaces, LabelsThatAreAsFrequentAreNotTakenForEachOther) {
  // x_0 > 0 and its complement: no high threshold, so never certified, but the set agrees with the labels.
  for (std::uint64_t seed = 90; seed < 94; ++seed) {
    const RowMatrix x = Stream(seed, "x").normal_matrix(20000, 4);
    const RowMatrix y = (x.col(0).array() > 0).cast<double>();
    for (const RowMatrix& labels : {y, RowMatrix(1 - y.array())}) {
      const LowestLayerResult found = halfspaces(memory_samples(x, labels), {}, two_threads());
      EXPECT_EQ(found.certificate.status, Status::kUncertified) << seed;
      EXPECT_GT(found.set->agreement, 0.99) << seed;
    }
  }
}

}  // namespace
}  // namespace exhume::threshold_route_test
