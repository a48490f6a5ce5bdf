// Patterns and linear programs, few outputs, the three kinds of noise, hardness, and the route as a user
// calls it.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "exhume/error.h"
#include "exhume/papers/rectified.h"
#include "exhume/recover.h"
#include "linalg/linear_program.h"
#include "rectified_planted.h"
#include "refusal.h"

namespace exhume::rectified_routes_test {
namespace {

using testing::output_sd;
using testing::planted_rows;
using testing::PlantedRows;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RecoverOptions by(const std::string& method, std::optional<Index> hidden = {}) {
  RecoverOptions options;
  options.route = "rectified-" + method;
  if (hidden) options.widths = {*hidden};
  return options;
}

TEST(LinearProgram, SolvesRefusesAndNoticesInfeasibility) {
  LinearProgram program;
  program.M.resize(2, 2);
  program.M << 1, 1, 1, -1;
  program.low = Vector::Constant(2, -kInfinity);
  program.high.resize(2);
  program.high << 4, 2;
  program.bound_low = Vector::Zero(2);
  program.bound_high = Vector::Constant(2, kInfinity);
  program.objective.resize(2);
  program.objective << 2, 1;
  const auto best = solve(program);
  ASSERT_TRUE(best);
  EXPECT_NEAR((*best)(0), 3, 1e-9);
  EXPECT_NEAR((*best)(1), 1, 1e-9);
  program.low(0) = 5;
  program.high(0) = 6;
  program.bound_high = Vector::Ones(2);
  EXPECT_FALSE(solve(program));
  program.low.resize(1);
  EXPECT_THROW((void)solve(program), std::invalid_argument);
}

TEST(SignPatterns, AsManyAsGeneralPositionAllowsAndNoneTwice) {
  for (const auto& [k, n] :
       {std::pair<Index, Index>{1, 1}, {1, 6}, {2, 1}, {2, 9}, {3, 2}, {3, 12}, {4, 8}}) {
    const SignPatterns found = sign_patterns(Stream(7, "basis").normal_matrix(k, n), {}, {});
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(static_cast<double>(found.patterns.size()), patterns_in_general_position(k, n))
        << k << " " << n;
    const std::set<SignPattern> distinct(found.patterns.begin(), found.patterns.end());
    EXPECT_EQ(distinct.size(), found.patterns.size());
  }
}

TEST(SignPatterns, PlaneByHand) {
  // Columns (1,0), (0,1), (1,1): w = (p, q) has signs of p, q and p + q. Both positive forces the third; both
  // not positive forbids it: 3 + 3 patterns.
  Matrix B(2, 3);
  B << 1, 0, 1, 0, 1, 1;
  const SignPatterns found = sign_patterns(B, {}, {});
  const std::set<SignPattern> got(found.patterns.begin(), found.patterns.end());
  const std::set<SignPattern> expected = {{true, true, true},  {true, false, true},  {true, false, false},
                                          {false, true, true}, {false, true, false}, {false, false, false}};
  EXPECT_EQ(got, expected);
}

TEST(SignPatterns, StopsAtItsBudget) {
  const SignPatterns found = sign_patterns(Stream(8, "basis").normal_matrix(3, 20), {30}, {});
  EXPECT_FALSE(found.complete);
}

TEST(AnyInputs, IntegerPointsOfAnyKind) {
  for (const auto& [d, k, m, n] : {std::array<Index, 4>{3, 2, 2, 24}, {4, 3, 3, 16}, {2, 1, 1, 8}}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      PlantedRows rows = planted_rows(d, k, m, n, seed);
      rows.x = (3 * Stream(99, "points").normal_matrix(n, d)).array().round();
      rows.y = evaluate(rows.truth, rectified_power(1), rows.x);
      const AnyInputsFit fit = recover_any_inputs(rows.x, rows.y, k, {}, {});
      EXPECT_EQ(fit.outcome, AnyInputsOutcome::kExact) << d << k << " seed " << seed;
      EXPECT_LT(fit.relative_mse, 1e-20);
    }
  }
}

TEST(AnyInputs, SaysThatNoNetworkFits) {
  // |x| + noise-free square is no two ReLUs through the origin.
  RowMatrix x(7, 1), y(7, 2);
  x << -3, -2, -1, 1, 2, 3, 4;
  y.col(0) = x.col(0).array().square();
  y.col(1) = x.col(0).array().abs();
  EXPECT_EQ(recover_any_inputs(x, y, 2, {}, {}).outcome, AnyInputsOutcome::kNoNetwork);
  EXPECT_EQ(recover_any_inputs(x, y, 3, {}, {}).outcome, AnyInputsOutcome::kRankDeficient);
  EXPECT_EQ(recover_any_inputs(x, y, 1, {}, {}).outcome, AnyInputsOutcome::kRankExceeded);
}

TEST(EqualDirections, IntegerRowsGroupExactly) {
  RowMatrix r(8, 2);
  r << 1, 2, 3, 4, 2, 4, 0, 0, -1, -2, 6, 8, 4, 8, 5, 1;
  const auto groups = equal_directions(r, 2, 0, 1e-12, 1);
  ASSERT_EQ(groups.size(), 2U);
  std::set<Index> first(groups[0].begin(), groups[0].end()), second(groups[1].begin(), groups[1].end());
  EXPECT_EQ(first, (std::set<Index>{0, 2, 6}));
  EXPECT_EQ(second, (std::set<Index>{1, 5}));
}

TEST(FewOutputs, MoreUnitsThanOutputsForEveryActivation) {
  for (const char* name : {"relu", "square", "cube", "exp"}) {
    const Rectifier f = parse_rectifier(name);
    for (const std::uint64_t seed : {101, 102}) {
      const PlantedRows rows = planted_rows(5, 4, 2, 60000, seed, f);
      const FewOutputs found = recover_few_outputs(rows.x, rows.y, f, {}, {});
      EXPECT_EQ(found.outcome, FewOutputsOutcome::kExact) << name << " seed " << seed;
      EXPECT_LT(align(found.network, rows.truth).worst_error, 1e-9) << name << " seed " << seed;
    }
  }
}

TEST(FewOutputs, OneOutputIsRefused) {
  const PlantedRows rows = planted_rows(3, 2, 1, 500, 103);
  EXPECT_EQ(recover_few_outputs(rows.x, rows.y, rectified_power(1), {}, {}).outcome,
            FewOutputsOutcome::kOneOutput);
}

TEST(NoiseSigns, ResidualsMatchANaiveProjection) {
  const PlantedRows rows = planted_rows(4, 2, 3, 200, 111);
  Matrix V = Matrix::Zero(2, 5);
  V.leftCols(4) = rows.truth.W();
  V.row(1) *= -1;
  const RowMatrix y = rows.y + 0.2 * Stream(111, "noise").normal_matrix(200, 3);
  const NoiseSigns got = recover_signs(V, *memory_samples(rows.x, y), rectified_power(1), {});
  EXPECT_EQ(got.signs(0), 1);
  EXPECT_EQ(got.signs(1), -1);
  // Unit 0, by QR on explicit functions.
  const auto residual = [&](double sign) {
    Matrix F(200, 4);
    const Matrix Z = rows.x * V.leftCols(4).transpose();
    F << (sign * Z.col(0)).cwiseMax(0), Z.col(1).cwiseMax(0), (-Z.col(1)).cwiseMax(0), Vector::Ones(200);
    return (y - F * F.householderQr().solve(Matrix(y))).squaredNorm();
  };
  EXPECT_NEAR(got.margins(0) * got.noise_variance, residual(-1) - residual(1), 1e-8 * y.squaredNorm());
}

TEST(NoiseSigns, AllSignsRightAtThirtyPercentNoise) {
  for (const std::uint64_t seed : {121, 122}) {
    PlantedRows rows = planted_rows(8, 5, 6, 8000, seed);
    rows.y += 0.3 * output_sd(rows.y) * Stream(seed, "noise").normal_matrix(8000, 6);
    const Result result = recover(memory_samples(rows.x, rows.y), by("noise", 5));
    EXPECT_EQ(result.certificate.status, Status::kEstimated) << result.certificate.reason;
    // Standard errors are near 0.3 sd / sqrt(n) = 0.01 for a weight; a wrong sign is an error of order 1.
    EXPECT_LT(align(result.network, rows.truth).worst_error, 0.15) << seed;
  }
}

TEST(ArbitraryNoise, HeavyTailsAsLargeAsTheSignal) {
  const Index n = 20000;
  PlantedRows rows = planted_rows(5, 2, 4, n, 131);
  RowMatrix u(n, 4);
  Stream(131, "chi").fill_uniform(0, u);
  const RowMatrix E = output_sd(rows.y) *
                      (Stream(131, "noise").normal_matrix(n, 4).array() / (-u.array().log()).sqrt()).matrix();
  ArbitraryNoiseOptions options;
  options.hidden = 2;
  options.budget = 200;
  const ArbitraryNoiseFit fit = fit_arbitrary_noise(memory_samples(rows.x, rows.y + E), options, {});
  EXPECT_LE(fit.residual_norm, 1.01 * E.norm());
  const RowMatrix difference = evaluate(fit.network, rectified_power(1), rows.x) - rows.y;
  EXPECT_LT(difference.squaredNorm(), 0.05 * (rows.y.rowwise() - rows.y.colwise().mean()).squaredNorm());
}

TEST(SparseNoise, PartialSvdMatchesADenseOne) {
  const Matrix M = Stream(141, "matrix").normal_matrix(12, 4) * Stream(142, "matrix").normal_matrix(4, 40);
  const PartialSvd got = partial_svd(M, 1e-9, Matrix(40, 0), 1);
  const Eigen::JacobiSVD<Matrix> dense(M);
  ASSERT_EQ(got.values.size(), 4);
  EXPECT_LT((got.values - dense.singularValues().head(4)).norm(), 1e-11 * dense.singularValues()(0));
  EXPECT_LT((got.U * got.values.asDiagonal() * got.V.transpose() - M).norm(), 1e-11 * M.norm());
}

TEST(SparseNoise, SupportAndNetworkComeBackExactly) {
  const Index n = 1500, m = 40;
  PlantedRows rows = planted_rows(6, 3, m, n, 151);
  RowMatrix u(n, m);
  Stream(151, "hit").fill_uniform(0, u);
  const Matrix sizes = 100 * Stream(151, "sizes").normal_matrix(n, m);
  std::vector<std::pair<Index, Index>> hit;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < m; ++j) {
      if (u(i, j) >= 0.05) continue;
      rows.y(i, j) += sizes(i, j);
      hit.emplace_back(i, j);
    }
  }
  const Result result = recover(memory_samples(rows.x, rows.y), by("sparse-noise"));
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_EQ(result.support, hit);
  EXPECT_LT(align(result.network, rows.truth).worst_error, 1e-8);
}

TEST(Hardness, DimacsIsReadAndRefusedByLine) {
  const Cnf formula = parse_dimacs("c tiny\np cnf 2 2\n1 -2 0\n-1\n2 0\n");
  EXPECT_EQ(formula.variables, 2);
  EXPECT_EQ(formula.clauses, (std::vector<std::vector<int>>{{1, -2}, {-1, 2}}));
  EXPECT_TRUE(reversible(formula));
  expect_refused<DataError>([] { (void)parse_dimacs("1 2 0\n"); }, {"line 1", "header"});
  expect_refused<DataError>([] { (void)parse_dimacs("p cnf 2 1\n1 3 0\n"); }, {"line 2", "'3'"});
  expect_refused<DataError>([] { (void)parse_dimacs("p cnf 2 1\n1 2\n"); }, {"not ended"});
  expect_refused<DataError>([] { (void)parse_dimacs("p cnf 2 2\n1 2 0\n"); }, {"promises 2"});
  expect_refused<std::invalid_argument>([&] { (void)relu_separability(formula); }, {"2 literals"});
}

TEST(Hardness, SatisfiableAndSolvableAgree) {
  // Not all equal, filled up to six literals: satisfiable on two variables unless every pair is forbidden.
  const std::vector<int> equal = {1, 1, 1, 2, 2, 2}, opposite = {1, 1, 1, -2, -2, -2};
  Cnf satisfiable{2, {equal}}, unsatisfiable{2, {equal, opposite}},
      three{3, {{1, 1, 2, 2, 3, 3}, {1, 1, -2, -2, 3, 3}}};
  for (const Cnf& formula :
       {with_complements(satisfiable), with_complements(unsatisfiable), with_complements(three)}) {
    const Separability instance = relu_separability(formula);
    const auto truth = satisfying_assignment(formula);
    const auto solution = solve_separability(instance, {});
    EXPECT_EQ(truth.has_value(), solution.has_value());
    if (!solution) continue;
    const RowMatrix y = (instance.x * solution->transpose()).cwiseMax(0).rowwise().sum();
    EXPECT_LT((y - instance.y).cwiseAbs().maxCoeff(), 1e-7);
    // The first vector spells an assignment that satisfies the formula.
    for (const auto& clause : formula.clauses) {
      EXPECT_TRUE(std::any_of(clause.begin(), clause.end(), [&](int literal) {
        return (*solution)(0, std::abs(literal) - 1) * literal > 0;
      }));
    }
  }
  EXPECT_FALSE(satisfying_assignment(with_complements(unsatisfiable)));
  // Such samples have rank 1: two units are refused, not guessed.
  const Separability instance = relu_separability(with_complements(satisfiable), true);
  const Result result = recover(memory_samples(instance.x, instance.y), by("any", 2));
  EXPECT_EQ(result.certificate.status, Status::kRefused);
  EXPECT_NE(result.certificate.reason.find("NP-hard"), std::string::npos);
}

TEST(Hardness, IndistinguishablePairIsNotClaimed) {
  const double a = 1e-3;
  const IndistinguishablePair pair = indistinguishable_pair(a);
  RowMatrix x = Stream(161, "pair").normal_matrix(400, 2);
  std::vector<Index> far;
  for (Index i = 0; i < x.rows(); ++i) {
    if (std::abs(x(i, 0)) > 2 * a * std::abs(x(i, 1))) far.push_back(i);
  }
  const RowMatrix agreed = x(far, Eigen::all);
  const RowMatrix y = evaluate(pair.first, agreed);
  EXPECT_LT((y - evaluate(pair.second, agreed)).cwiseAbs().maxCoeff(), 1e-14);
  RowMatrix apart(1, 2);
  apart << a, 1;
  EXPECT_GT(std::abs(evaluate(pair.first, apart)(0, 0) - evaluate(pair.second, apart)(0, 0)), 1e-4);
  // Asked for two units, every route refuses.
  for (const std::string method : {"tensor", "ica", "any", "few-outputs"}) {
    EXPECT_EQ(recover(memory_samples(agreed, y), by(method, 2)).certificate.status, Status::kRefused)
        << method;
  }
  // Asked for as many as the outputs show, it finds the one unit both agree with, and the bound on the
  // function's error is no smaller than the truth.
  const Result one = recover(memory_samples(agreed, y), by("tensor"));
  ASSERT_NE(one.certificate.status, Status::kRefused) << one.certificate.reason;
  const RowMatrix fresh = Stream(162, "pair").normal_matrix(20000, 2);
  for (const Network& truth : {pair.first, pair.second}) {
    const double error = (evaluate(one.network, fresh) - evaluate(truth, fresh)).squaredNorm() / 20000;
    EXPECT_LE(error, one.errors.functional_error_bound);
  }
}

TEST(RectifiedRoute, EveryExactMethodCertifies) {
  const PlantedRows rows = planted_rows(6, 4, 5, 6000, 171, rectified_power(1), true);
  const SamplePtr samples = memory_samples(rows.x, rows.y);
  for (const std::string method : {"tensor", "ica", "symmetric", "few-outputs"}) {
    const Result result = recover(samples, by(method));
    EXPECT_EQ(result.certificate.status, Status::kCertified) << method << ": " << result.certificate.reason;
    EXPECT_LT(align(result.network, rows.truth).worst_error, 1e-10) << method;
  }
}

TEST(RectifiedRoute, RefusesOrLeavesUncertifiedWithTheReason) {
  PlantedRows rows = planted_rows(5, 3, 4, 4000, 181);
  const Result deficient = recover(memory_samples(rows.x, rows.y), by("tensor", 4));
  EXPECT_EQ(deficient.certificate.status, Status::kRefused);
  EXPECT_NE(deficient.certificate.reason.find("fewer than the 4 units"), std::string::npos)
      << deficient.certificate.reason;

  const RowMatrix noisy = rows.y + 0.1 * Stream(181, "noise").normal_matrix(4000, 4);
  const Result noise = recover(memory_samples(rows.x, noisy), by("tensor", 3));
  EXPECT_EQ(noise.certificate.status, Status::kRefused);
  EXPECT_NE(noise.certificate.reason.find("noise"), std::string::npos) << noise.certificate.reason;
  const Result any = recover(memory_samples(rows.x, noisy), by("tensor"));
  EXPECT_EQ(any.certificate.status, Status::kUncertified);
  EXPECT_NE(any.certificate.reason.find("noise"), std::string::npos) << any.certificate.reason;
  EXPECT_NE(recover(memory_samples(rows.x, noisy), by("few-outputs")).certificate.status, Status::kCertified);

  // Exponential inputs on a route for Gaussian ones.
  RowMatrix skewed(4000, 5);
  Stream(182, "inputs").fill_uniform(0, skewed);
  skewed = -(skewed.array().log()) - 1;
  const RowMatrix y =
      evaluate(rows.truth, rectified_power(1), skewed) + 0.05 * Stream(182, "noise").normal_matrix(4000, 4);
  for (const std::string method : {"arbitrary-noise", "tensor"}) {
    const Result result = recover(memory_samples(skewed, y), by(method, method == "tensor" ? 4 : 3));
    EXPECT_NE(result.certificate.status, Status::kCertified);
    EXPECT_NE(result.certificate.reason.find("not Gaussian"), std::string::npos) << result.certificate.reason;
  }
}

TEST(RectifiedRoute, BadOptionsAreNamed) {
  expect_refused<std::invalid_argument>([] { by("magic").validate(); }, {"magic", "sparse-noise"});
  // An option that a route does not read is no silent no-op.
  RecoverOptions leaky = by("tensor");
  leaky.leak = 0.1;
  expect_refused<std::invalid_argument>([&] { leaky.validate(); }, {"leak", "rectified-tensor"});
  RecoverOptions square = by("sparse-noise");
  square.activation = "square";
  expect_refused<std::invalid_argument>([&] { square.validate(); }, {"activation", "rectified-sparse-noise"});
  const SamplePtr samples = memory_samples(RowMatrix::Ones(1, 2), RowMatrix::Ones(1, 1));
  expect_refused<DataError>([&] { (void)recover(samples, by("tensor")); }, {"too few"});
  expect_refused<std::invalid_argument>([&] { (void)recover(samples, by("any", 0)); }, {"hidden is 0"});
}

}  // namespace
}  // namespace exhume::rectified_routes_test
