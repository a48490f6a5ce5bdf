#include "exhume/papers/memorize.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.h"
#include "exhume/error.h"
#include "normal_rows.h"

namespace exhume::memorize_descent_test {
namespace {

struct Instance {
  RowMatrix x;
  Vector y;
  double sigma = 0;
};

Instance instance(Index n, Index d, std::uint64_t seed) {
  Instance out;
  out.x = unit_rows(normal_rows(n, d, seed));
  out.y = normal_rows(n, 1, seed + 1000).col(0);
  out.sigma = fit_closed_form(out.x, out.y).sigma_min;
  return out;
}

TEST(QuadraticObjective, ValueIsThePrintedFormula) {
  const Instance in = instance(7, 4, 1);
  const QuadraticObjective objective(in.x, in.y, 6, 0.3);
  const Matrix W = Stream(5, "W").normal_matrix(6, 4);
  double f = 0;
  for (Index j = 0; j < 7; ++j) {
    double out = -in.y(j);
    for (Index i = 0; i < 6; ++i) out += (i < 3 ? 1 : -1) * std::pow(W.row(i).dot(in.x.row(j)), 2);
    f += out * out / 28;
  }
  const auto point = objective.at(W);
  EXPECT_NEAR(point.f, f, 1e-13 * f);
  EXPECT_NEAR(point.g, f + 0.15 * W.squaredNorm(), 1e-12 * f);
}

TEST(QuadraticObjective, DerivativesAgreeWithDifferences) {
  const Instance in = instance(11, 5, 2);
  const QuadraticObjective objective(in.x, in.y, 8, 0.2);
  const Matrix W = Stream(5, "W").normal_matrix(8, 5), V = Stream(6, "V").normal_matrix(8, 5);
  const double h = 1e-5;
  const auto point = objective.at(W), up = objective.at(W + h * V), down = objective.at(W - h * V);
  EXPECT_NEAR(point.gradient.cwiseProduct(V).sum(), (up.g - down.g) / (2 * h), 1e-6 * std::abs(up.g));
  const Matrix differences = (up.gradient - down.gradient) / (2 * h);
  EXPECT_LE((objective.hessian_product(point, V) - differences).norm(), 1e-7 * differences.norm());
  EXPECT_LE(
      (objective.hessian_product(point, V) - objective.hessian_product(point, V, false) - 0.2 * V).norm(),
      1e-12 * V.norm());
  // The line is exact, not an expansion.
  const auto line = objective.line(point, V);
  for (const double t : {0.0, 0.3, -2.0, 10.0}) {
    const double wanted = objective.at(W - t * V).g;
    EXPECT_NEAR(line.g(t), wanted, 1e-11 * wanted);
  }
}

// The whole Hessian by columns: symmetric, its smallest eigenvalue what Lanczos and Lemma 3 say.
TEST(SecondOrder, LanczosAgreesWithTheWholeHessianAndLemma3) {
  const Instance in = instance(14, 5, 3);
  for (const Index units : {4, 12}) {  // 12 = 2d + 2
    const QuadraticObjective objective(in.x, in.y, units);
    const auto point = objective.at(0.5 * Stream(5, "W").normal_matrix(units, 5));
    const Index size = units * 5;
    Matrix hessian(size, size);
    for (Index i = 0; i < size; ++i) {
      Matrix e = Matrix::Zero(units, 5);
      e.data()[i] = 1;
      const Matrix column = objective.hessian_product(point, e);
      hessian.col(i) = Eigen::Map<const Vector>(column.data(), size);
    }
    EXPECT_LE((hessian - hessian.transpose()).norm(), 1e-13 * hessian.norm());
    const double smallest = Eigen::SelfAdjointEigenSolver<Matrix>(hessian).eigenvalues()(0);
    const SecondOrder second = certify_stationarity(objective, point, in.sigma);
    EXPECT_NEAR(second.lambda_min, smallest, 1e-6 * std::abs(smallest)) << units;
    EXPECT_GE(smallest, second.lower_bound * (1 + 1e-9));
    EXPECT_EQ(second.wide_enough, units == 12);
    if (units == 12) {
      EXPECT_NEAR(smallest, second.lower_bound, 1e-10 * std::abs(smallest)) << "Lemma 3";
      EXPECT_TRUE(second.lemma1_holds);
    }
  }
}

// Must show: every local minimum that PGD reports satisfies Lemma 1's bound.
TEST(PerturbedGradientDescent, LocalMinimaSatisfyLemma1) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Index d = 4 + static_cast<Index>(seed % 5), n = d * (d + 1) / 2 - 2;
    const Instance in = instance(n, d, seed);
    DescentOptions options;
    options.seed = seed;
    options.target = 0;  // run until the algorithm itself reports a local minimum
    options.max_iterations = 200000;
    options.record_every = 1000;
    const Descent descent = descend(in.x, in.y, 2 * d + 2, options);
    ASSERT_EQ(descent.outcome, DescentOutcome::kLocalMinimum) << "seed " << seed;
    const QuadraticObjective objective(in.x, in.y, 2 * d + 2);
    const SecondOrder second = certify_stationarity(objective, objective.at(descent.W), in.sigma);
    EXPECT_TRUE(second.wide_enough);
    EXPECT_TRUE(second.lemma1_holds) << "seed " << seed << ": f " << second.f << ", bound "
                                     << second.lemma1_bound;
    EXPECT_LE(second.f, 1e-10) << "seed " << seed;
  }
}

// The same for the printed rule, on instances small enough for its constants to finish.
TEST(PerturbedGradientDescent, PrintedConstantsFinishOnATinyInstance) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const Instance in = instance(2, 2, seed);
    DescentOptions options;
    options.rule = DescentOptions::Rule::kPrinted;
    options.sigma = in.sigma;
    options.seed = seed;
    options.epsilon = 0.1;
    options.max_iterations = 2000000;
    options.record_every = 100;
    const Descent descent = descend(in.x, in.y, 6, options);
    ASSERT_EQ(descent.outcome, DescentOutcome::kLocalMinimum) << "seed " << seed;
    EXPECT_LE(descent.f, options.epsilon) << "Theorem 4, seed " << seed;
    EXPECT_GE(descent.perturbations, 2) << "one to leave the saddle at zero, one to judge the minimum";
    const QuadraticObjective objective(in.x, in.y, 6);
    EXPECT_TRUE(certify_stationarity(objective, objective.at(descent.W), in.sigma).lemma1_holds);
  }
}

// Must show: with the printed constants g falls monotonically outside perturbation phases.
TEST(PerturbedGradientDescent, PrintedConstantsDescendMonotonically) {
  const Instance in = instance(6, 3, 4);
  DescentOptions options;
  options.rule = DescentOptions::Rule::kPrinted;
  options.sigma = in.sigma;
  options.epsilon = 0.05;
  options.max_iterations = 30000;
  for (const bool from_zero : {true, false}) {
    if (!from_zero) options.start = 0.7 * Stream(5, "W").normal_matrix(8, 3);
    const Descent descent = descend(in.x, in.y, 8, options);
    int outside = 0;
    for (std::size_t i = 1; i < descent.history.size(); ++i) {
      const DescentStep &now = descent.history[i], &last = descent.history[i - 1];
      if (now.perturbed || now.in_phase || last.in_phase) continue;
      ++outside;
      ASSERT_LE(now.g, last.g) << "iteration " << now.iteration;
    }
    if (from_zero) {
      EXPECT_GE(descent.perturbations, 1) << "zero is a stationary point";
    } else {
      EXPECT_GT(outside, 1000);
    }
    // The proof of Theorem 4: never above the start by more than 3 c eps^2 / (2 chi^4 ell).
    const double slack =
        1.5 * std::pow(options.epsilon, 2) / (std::pow(descent.constants.chi, 4) * descent.constants.ell);
    for (const DescentStep& step : descent.history)
      ASSERT_LE(step.g, descent.history.front().g + slack + 1e-15);
  }
}

TEST(PerturbedGradientDescent, ConstantsAreThePrintedOnes) {
  RowMatrix x(2, 2);
  x << 1, 0, 0, 2;
  const Vector y = Vector::Constant(2, 2);  // f(0) = 8 / 8 = 1, B = 2, Y = 2, n d = 4
  const TheoremConstants c = theorem_constants(x, y, 6, 0.5, 0.16, 1, 0.1);
  EXPECT_DOUBLE_EQ(c.gamma, std::sqrt(0.25 * 0.16 / 4));  // 0.1
  EXPECT_DOUBLE_EQ(c.rho, 6 * 16 * 2 * std::pow(4 / (0.25 * 0.16), 0.25));
  EXPECT_DOUBLE_EQ(c.ell, 3 * 16 * 4 / c.gamma + 8 + c.gamma);
  EXPECT_DOUBLE_EQ(c.chi, 3 * std::log(12 * c.ell * 2 / (0.16 * 0.16 * 0.1)));
  EXPECT_DOUBLE_EQ(c.step, 1 / c.ell);
  EXPECT_NEAR(c.radius * c.ell, c.gradient_threshold, 1e-15);
  EXPECT_THROW((void)theorem_constants(x, y, 6, 0, 0.1, 1, 0.1), std::invalid_argument);
  EXPECT_THROW((void)theorem_constants(x, y, 6, 1, 0.1, 2, 0.1), std::invalid_argument);
}

// Must show: N = 300, d = 100, r = 202, from zero.
TEST(PerturbedGradientDescent, PracticalFitsTheSyntheticExample) {
  const Instance in = instance(300, 100, 1);
  DescentOptions options;
  options.target = 1e-10;
  options.max_iterations = 2000;
  const Descent descent = descend(in.x, in.y, 202, options);
  EXPECT_EQ(descent.outcome, DescentOutcome::kTarget);
  EXPECT_LE(descent.iterations, 300);
  EXPECT_EQ(descent.perturbations, 1);
}

TEST(PerturbedGradientDescent, RepeatsItselfWhateverTheThreads) {
  const Instance in = instance(1300, 60, 1);
  DescentOptions options;
  options.max_iterations = 15;
  Control three;
  three.threads = 3;
  const Descent a = descend(in.x, in.y, 10, options), b = descend(in.x, in.y, 10, options, three);
  EXPECT_TRUE(a.W == b.W);
  options.seed = 9;
  EXPECT_FALSE(a.W == descend(in.x, in.y, 10, options).W);
  options.rule = DescentOptions::Rule::kAdam;
  EXPECT_TRUE(descend(in.x, in.y, 10, options).W == descend(in.x, in.y, 10, options, three).W);
}

TEST(Adam, FitsASmallInstance) {
  const Instance in = instance(30, 12, 1);
  DescentOptions options;
  options.rule = DescentOptions::Rule::kAdam;
  options.max_iterations = 20000;
  options.decay_epochs = 5000;
  options.target = 1e-8;
  const Descent descent = descend(in.x, in.y, 26, options);
  EXPECT_EQ(descent.outcome, DescentOutcome::kTarget) << descent.f;
  for (std::size_t i = 1; i < descent.history.size(); ++i)
    EXPECT_LE(descent.history[i].step, descent.history[i - 1].step);
}

TEST(Descent, ZeroLabelsAreFittedByZero) {
  const RowMatrix x = normal_rows(5, 4, 1);
  EXPECT_EQ(descend(x, Vector::Zero(5), 10, {}).W.norm(), 0);
}

TEST(Descent, RefusesNonsense) {
  const RowMatrix x = normal_rows(5, 4, 1);
  const Vector y = Vector::Ones(5);
  EXPECT_THROW((void)descend(x, y, 3, {}), std::invalid_argument) << "an odd number of units";
  EXPECT_THROW((void)descend(x, Vector::Ones(4), 4, {}), std::invalid_argument);
  DescentOptions options;
  options.rate = 0;
  EXPECT_THROW((void)descend(x, y, 4, options), std::invalid_argument);
  options = {};
  options.rule = DescentOptions::Rule::kPrinted;
  EXPECT_THROW((void)descend(x, y, 4, options), std::invalid_argument) << "no sigma";
}

TEST(Descent, IsInterruptedAndStopsPastItsDeadline) {
  const Instance in = instance(50, 20, 1);
  Control control;
  control.should_stop = [] { return true; };
  EXPECT_THROW((void)descend(in.x, in.y, 42, {}, control), Interrupted);
  Control late;
  late.deadline = Control::Clock::now();
  EXPECT_EQ(descend(in.x, in.y, 42, {}, late).outcome, DescentOutcome::kTime);
}

}  // namespace
}  // namespace exhume::memorize_descent_test
