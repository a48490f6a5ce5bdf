#include "exhume/fit/polish.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "exhume/moments/moments.h"
#include "exhume/data/planted.h"
#include "exhume/base/random.h"
#include "exhume/fit/signs.h"
#include "exhume/fit/standard_errors.h"
#include "exhume/moments/standardise.h"

namespace exhume {
namespace {

SeparableModel sign_free_start(const Network& network, double error, std::uint64_t seed) {
  SeparableModel model;
  model.V.resize(network.hidden(), network.inputs() + 1);
  model.V << network.W, network.b;
  model.V += error * Stream(seed, "start").normal_matrix(model.V.rows(), model.V.cols());
  for (Index j = 0; j < model.units(); j += 2) model.V.row(j) *= -1;  // the sign must not matter
  return model;
}

TEST(Polish, ReachesTheLastBitFromARoughStart) {
  for (const Index outputs : {Index{1}, Index{3}}) {
    const Network network =
        plant({.inputs = 6, .hidden = 5, .outputs = outputs, .amplitudes = Amplitudes::kSigns, .seed = 21});
    const SamplePtr samples = planted_samples(network, {.samples = 1500, .seed = 22});
    const PolishSummary summary = polish(sign_free_start(network, 0.1, 23), *samples, {}, {});
    EXPECT_LT(summary.relative_mse, 1e-28) << outputs;
    const SignDecision signs = decide_signs(summary.model, {});
    EXPECT_EQ(signs.outcome, SignOutcome::kUnique) << outputs;
    const Network found = to_network(with_signs(summary.model, signs));
    EXPECT_LT(align(found, network).worst_error, 1e-12) << outputs;
  }
}

TEST(Polish, MatrixFreeStepsAgreeWithDenseOnes) {
  const Network network = plant({.inputs = 8, .hidden = 6, .outputs = 2, .seed = 31});
  const SamplePtr samples = planted_samples(network, {.samples = 1500, .seed = 32});
  PolishOptions free;
  free.dense_limit = 0;
  const PolishSummary summary = polish(sign_free_start(network, 0.05, 33), *samples, free, {});
  EXPECT_LT(summary.relative_mse, 1e-26);
}

TEST(Polish, IsTheSameForAnyNumberOfThreads) {
  const Network network = plant({.inputs = 5, .hidden = 4, .outputs = 2, .seed = 41});
  const SamplePtr samples = planted_samples(network, {.samples = 2000, .noise = 0.1, .seed = 42});
  Control one, three;
  one.threads = 1;
  three.threads = 3;
  const PolishSummary a = polish(sign_free_start(network, 0.1, 43), *samples, {}, one);
  const PolishSummary b = polish(sign_free_start(network, 0.1, 43), *samples, {}, three);
  EXPECT_TRUE(a.model.V == b.model.V);
  EXPECT_TRUE(a.model.C == b.model.C);
}

TEST(Polish, LinearPartAgreesWithAQrOracle) {
  const RowMatrix x = Stream(51, "x").normal_matrix(200, 3), y = Stream(51, "y").normal_matrix(200, 2);
  SeparableModel model;
  model.V = Stream(52, "V").normal_matrix(4, 4);
  model.V.col(3) *= 0.2;  // every unit must bend within the samples, or the features are dependent
  (void)fit_linear_part(model, *memory_samples(x, y), {}, {});
  Matrix F(200, 8);
  const Matrix Z = (x * model.V.leftCols(3).transpose()).rowwise() + model.V.col(3).transpose();
  F << Z.cwiseAbs(), x, Matrix::Ones(200, 1);
  const Matrix expected = F.colPivHouseholderQr().solve(Matrix(y));
  EXPECT_LT((model.C - expected).norm(), 1e-12);
}

TEST(Polish, AModelWithoutUnitsIsALinearFit) {
  const RowMatrix x = Stream(55, "x").normal_matrix(100, 2), y = (2 * x.col(0) - x.col(1)).array() + 3;
  SeparableModel model;
  model.V.resize(0, 3);
  const PolishSummary summary = polish(model, *memory_samples(x, y), {}, {});
  EXPECT_LT(summary.relative_mse, 1e-28);
}

TEST(Polish, RefusesBadOptions) {
  PolishOptions options;
  options.damping = 0;
  EXPECT_THROW(options.validate(), std::invalid_argument);
}

TEST(Signs, AmbiguousWhereWeightsAreDependent) {
  // Claim 4.8: sum beta_i w_i = 0, a_i = beta_i, no biases: turning all units around gives the same function.
  Matrix W = Stream(61, "W").normal_matrix(4, 3);
  const Vector beta = Eigen::FullPivLU<Matrix>(W.transpose()).kernel().col(0);
  SeparableModel model;
  model.V = Matrix::Zero(4, 4);
  model.V.leftCols(3) = W;
  model.C = Matrix::Zero(8, 1);
  model.C.topRows(4) = beta / 2;
  const Vector truth = (Vector(4) << 1, 1, 1, 1).finished();
  model.C.block(4, 0, 3, 1) = W.transpose() * (truth.cwiseProduct(beta) / 2);
  EXPECT_EQ(decide_signs(model, {}).outcome, SignOutcome::kAmbiguous);
}

TEST(Signs, FoundByEnumerationWhereUnitsOutnumberInputs) {
  const Network network =
      plant({.inputs = 4, .hidden = 11, .outputs = 1, .amplitudes = Amplitudes::kSigns, .seed = 71});
  SeparableModel model;
  model.V.resize(11, 5);
  model.V << network.W, network.b;
  model.C = Matrix::Zero(11 + 5, 1);
  model.C.topRows(11) = network.A.transpose() / 2;
  model.C.block(11, 0, 4, 1) = network.W.transpose() * network.A.transpose() / 2;
  for (Index j = 0; j < 11; j += 3) model.V.row(j) *= -1;
  const SignDecision decision = decide_signs(model, {});
  ASSERT_EQ(decision.outcome, SignOutcome::kUnique);
  for (Index j = 0; j < 11; ++j) EXPECT_EQ(decision.signs(j), j % 3 == 0 ? -1 : 1) << j;
}

TEST(Signs, UndecidedWhereALinearTermIsLeftOver) {
  const Network network = plant({.inputs = 4, .hidden = 3, .outputs = 1, .seed = 72});
  SeparableModel model;
  model.V.resize(3, 5);
  model.V << network.W, network.b;
  model.C = Stream(73, "C").normal_matrix(3 + 5, 1);
  const SignDecision decision = decide_signs(model, {});
  EXPECT_EQ(decision.outcome, SignOutcome::kUndecided);
  const RowMatrix x = Stream(74, "x").normal_matrix(30, 4);
  const Network kept = to_network(with_signs(model, decision));
  EXPECT_LT((evaluate(model, x) - evaluate(kept, x)).norm(), 1e-12);
}

TEST(StandardErrors, AgreeWithTheDenseCovariance) {
  // One unit, one output, standard coordinates: parameters (w on the circle, b, a, c), J by hand.
  const Network network = canonical(plant({.inputs = 2, .hidden = 1, .outputs = 1, .seed = 81}));
  const SamplePtr samples = planted_samples(network, {.samples = 4000, .seed = 82});
  Standardisation identity;
  identity.map = {Matrix::Identity(2, 2), Vector::Zero(2), Vector::Ones(1), Vector::Zero(1)};
  identity.back = Matrix::Identity(2, 2);
  const ErrorEstimate found = standard_errors(to_signed_model(network), *samples, 0.25, identity, {});
  SampleBlock block;
  samples->read(0, 4000, block);
  Matrix J(4000, 4);
  const Vector w = network.W.row(0).transpose(), tangent = (Vector(2) << -w(1), w(0)).finished();
  for (Index i = 0; i < 4000; ++i) {
    const double z = block.x().row(i).dot(w) + network.b(0), active = z > 0 ? 1 : 0;
    J.row(i) << network.A(0, 0) * active * block.x().row(i).dot(tangent), network.A(0, 0) * active,
        z * active, 1;
  }
  const Matrix covariance = 0.25 * (J.transpose() * J).inverse();
  EXPECT_NEAR(found.errors.W(0, 0), std::sqrt(covariance(0, 0)) * std::abs(tangent(0)), 1e-9);
  EXPECT_NEAR(found.errors.b(0), std::sqrt(covariance(1, 1)), 1e-9);
  EXPECT_NEAR(found.errors.A(0, 0), std::sqrt(covariance(2, 2)), 1e-9);
  EXPECT_NEAR(found.errors.c(0), std::sqrt(covariance(3, 3)), 1e-9);
}

}  // namespace
}  // namespace exhume
