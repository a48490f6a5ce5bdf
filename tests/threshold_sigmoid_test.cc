#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "exhume/error.h"
#include "exhume/network.h"
#include "exhume/papers/threshold.h"
#include "normal_rows.h"
#include "papers/threshold/biased.h"
#include "papers/threshold/models.h"
#include "papers/threshold/sigmoid_fit.h"
#include "refusal.h"

namespace exhume::threshold_sigmoid_test {
namespace {

ThresholdModel sigmoid_model(Index d, Index k, double t, UpperKind upper, std::uint64_t seed) {
  return plant(ThresholdPlan{.inputs = d,
                             .hidden = k,
                             .activation = UnitActivation::kSigmoid,
                             .threshold = t,
                             .threshold_spread = 0.2,
                             .upper = upper,
                             .seed = seed});
}

// Largest distance of a row of (W, t) from the nearest row found.
double worst(const ThresholdModel& truth, const Matrix& W, const Vector& t) {
  double out = 0;
  for (Index i = 0; i < truth.W.rows(); ++i) {
    double best = 9;
    for (Index j = 0; j < W.rows(); ++j) {
      best = std::min(best, std::max((truth.W.row(i) - W.row(j)).norm(), std::abs(truth.t(i) - t(j))));
    }
    out = std::max(out, best);
  }
  return out;
}

TEST(SigmoidFit, ProductsOfTwoComeBackExactlyFromRoughDirections) {
  const ThresholdModel model = sigmoid_model(5, 4, 2, UpperKind::kProducts, 51);
  const SamplePtr samples = threshold_samples(model, {.samples = 20000, .seed = 51});
  // 0.15 radians off, and half of them on the wrong side.
  Matrix rough = model.W.transpose() + 0.07 * Stream(51, "rough").normal_matrix(5, 4);
  rough.colwise().normalize();
  rough.leftCols(2) *= -1;
  const SigmoidLayer fit = fit_sigmoids(samples, rough, {}, {});
  EXPECT_LT(worst(model, fit.V, fit.t), 1e-9);
  EXPECT_LT(fit.misfit, 1e-20);
  SampleBlock block;
  samples->read(0, 100, block);
  const Vector f = block.y().col(0);
  EXPECT_LT((fit.evaluate(block.x()) - f).cwiseAbs().maxCoeff(), 1e-9);
  const Vector linear = (fit.units(block.x()) * fit.linear).array() + fit.constant;
  EXPECT_LT((linear + fit.nonlinear_part(block.x()) - f).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(SigmoidFit, TooFewRowsAreRefused) {
  expect_refused<DataError>(
      [] {
        (void)fit_sigmoids(memory_samples(normal_rows(30, 3, 50), normal_rows(30, 1, 50)),
                           Matrix::Identity(3, 3), {}, {});
      },
      {"30 rows", "19 unknowns", "38"});
}

TEST(Biased, WeightsGiveBackTheGaussian) {
  const ThresholdModel model = sigmoid_model(4, 3, 3, UpperKind::kLinear, 52);
  const SamplePtr kept = biased_samples(model, 60000, 52);
  const SecondMoments plain = second_moments(*kept, {}), unbiased = unbiased_second_moments(*kept, {});
  EXPECT_GT(plain.mean_x().norm(), 0.3);  // kept rows lean towards the units
  EXPECT_LT(unbiased.mean_x().norm(), 0.04);
  EXPECT_LT((unbiased.covariance_x() - Matrix::Identity(4, 4)).norm(), 0.08);
  // E[f] of the Gaussian, from kept rows alone.
  SampleBlock block;
  threshold_samples(model, {.samples = 60000, .seed = 53})->read(0, 60000, block);
  EXPECT_NEAR(unbiased.mean_y()(0) / block.y().mean(), 1, 0.05);
}

TEST(Biased, MomentsOfKeptRowsShowTheDirections) {
  const ThresholdModel model = sigmoid_model(5, 4, 4, UpperKind::kLinear, 54);
  const BiasedDirections found = biased_directions(biased_samples(model, 100000, 54), 4, 54, {});
  ASSERT_EQ(found.directions.cols(), 4);
  const Matrix cosines = (model.W * found.directions).cwiseAbs();
  for (Index i = 0; i < 4; ++i) EXPECT_GT(cosines.row(i).maxCoeff(), std::cos(0.1));
}

TEST(Biased, OutputsThatAreNotPositiveAreRefused) {
  RowMatrix y = RowMatrix::Ones(5000, 1);
  y(41, 0) = 0;
  expect_refused<DataError>(
      [&] { (void)unbiased_second_moments(*memory_samples(normal_rows(5000, 3, 50), y), {}); },
      {"row 41", "biased"});
}

TEST(LowestLayer, SigmoidsAreExactFromGaussianAndFromBiasedRows) {
  const ThresholdModel model = sigmoid_model(6, 5, 3.5, UpperKind::kProducts, 55);
  for (const bool biased : {false, true}) {
    const SamplePtr samples =
        biased ? biased_samples(model, 60000, 55) : threshold_samples(model, {.samples = 150000, .seed = 55});
    const LowestLayerResult found = lowest_layer(
        samples, {.hidden = 5, .activation = LowestActivation::kSigmoid, .biased = biased, .seed = 55});
    EXPECT_LT(worst(model, found.layer.W, found.layer.t), 1e-9) << biased;
    EXPECT_EQ(found.certificate.status, Status::kCertified) << found.certificate.reason;
    EXPECT_LT(found.layer.worst_error, 1e-9);
  }
}

TEST(LowestLayer, SigmoidsWithNoiseStateAnErrorThatCoversTheirs) {
  const ThresholdModel model = sigmoid_model(5, 4, 3, UpperKind::kLinear, 56);
  const LowestLayerResult found =
      lowest_layer(threshold_samples(model, {.samples = 200000, .noise = 0.01, .seed = 56}),
                   {.hidden = 4, .activation = LowestActivation::kSigmoid, .seed = 56});
  ASSERT_EQ(found.layer.W.rows(), 4);
  const Matrix cosines = model.W * found.layer.W.rowwise().normalized().transpose();
  for (Index i = 0; i < 4; ++i) {
    EXPECT_LT(std::acos(std::min(1.0, cosines.row(i).maxCoeff())), found.layer.worst_error);
  }
}

TEST(LowestLayer, BiasedRowsAreForSigmoids) {
  expect_refused<std::invalid_argument>(
      [] {
        (void)lowest_layer(memory_samples(normal_rows(9000, 3, 50), normal_rows(9000, 1, 50)),
                           {.hidden = 3, .biased = true});
      },
      {"auto", "sigmoid"});
}

}  // namespace
}  // namespace exhume::threshold_sigmoid_test
