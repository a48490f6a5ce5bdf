// Signs where units outnumber equations: a random network of 128 units on 64 inputs and others.
#include "fit/signs.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace exhume::sign_lattice_test {
namespace {

struct SignProblem {
  Matrix M;
  Vector v, signs;
};

// Columns of length 0.5 to 1.5 in random directions, as a_j w_j of a random network; `error`: of v.
SignProblem random_problem(Index equations, Index units, double error, std::uint64_t seed) {
  SignProblem out;
  out.M = Stream(seed, "M").normal_matrix(equations, units);
  const Matrix size = Stream(seed, "size").normal_matrix(units, 1);
  for (Index j = 0; j < units; ++j) out.M.col(j) *= (1 + 0.5 * std::tanh(size(j))) / out.M.col(j).norm();
  out.signs = Stream(seed, "signs").normal_matrix(units, 1).array().sign();
  out.v = out.M * out.signs + error * Stream(seed, "v").normal_matrix(equations, 1);
  return out;
}

void expect_found(Index equations, Index units, double error, double tolerance, std::uint64_t seed) {
  const SignProblem problem = random_problem(equations, units, error, seed);
  const std::optional<SignPoint> found = only_signs(problem.M, problem.v, tolerance * problem.M.norm());
  ASSERT_TRUE(found) << equations << " " << units;
  EXPECT_EQ(found->signs, problem.signs) << equations << " " << units;
  EXPECT_LE(found->miss, tolerance * problem.M.norm());
  EXPECT_GT(found->runner_up, tolerance * problem.M.norm());
}

TEST(SignLattice, FindsSignsOfRandomNetworks) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    expect_found(64, 128, 1e-13, 1e-6, seed);
    expect_found(20, 40, 1e-13, 1e-6, seed);
    expect_found(8, 30, 1e-13, 1e-6, seed);
    expect_found(20, 100, 1e-14, 1e-10, seed);
    expect_found(40, 60, 1e-7, 1e-5, seed);  // few digits are enough where few are needed
  }
}

TEST(SignLattice, TheBoundOfTheRunnerUpHolds) {
  const SignProblem problem = random_problem(6, 14, 0, 7);
  const std::optional<SignPoint> found = only_signs(problem.M, problem.v, 1e-9);
  ASSERT_TRUE(found);
  double nearest = 1e300;
  for (int code = 0; code < 1 << 14; ++code) {
    Vector signs(14);
    for (Index j = 0; j < 14; ++j) signs(j) = (code >> j & 1) != 0 ? -1 : 1;
    if (signs != problem.signs) nearest = std::min(nearest, (problem.M * signs - problem.v).norm());
  }
  EXPECT_LE(found->runner_up, nearest);
  EXPECT_GT(found->runner_up, 0);
}

TEST(SignLattice, SaysNothingWhereItCannotTell) {
  // Nothing fits; a pair of units that may be turned together; one real equation of too few digits.
  SignProblem problem = random_problem(20, 40, 0, 8);
  EXPECT_FALSE(only_signs(problem.M, problem.v + Vector::Constant(20, 0.1), 1e-6));
  problem.M.col(1) = problem.M.col(0);
  problem.signs(1) = -problem.signs(0);
  EXPECT_FALSE(only_signs(problem.M, problem.M * problem.signs, 1e-6));
  problem = random_problem(1, 40, 0, 9);
  EXPECT_FALSE(only_signs(problem.M, problem.v, 1e-10));
}

TEST(SignLattice, DecidesANetworkOfTwiceAsManyUnitsAsInputs) {
  const Index d = 64, k = 128;
  const SignProblem problem = random_problem(d, k, 0, 10);
  Form model = one_layer(Matrix::Zero(k, d + 1));
  model.V[0].leftCols(d) = problem.M.transpose();
  model.C = Matrix::Zero(k + d + 1, 1);
  model.C.topRows(k).setConstant(0.8);
  model.C.middleRows(k, d) = 0.8 * problem.v;
  const SignDecision decision = decide_signs(model, {});
  ASSERT_EQ(decision.outcome, SignOutcome::kUnique);
  EXPECT_EQ(decision.signs, problem.signs);
  EXPECT_LT(decision.mismatch, 1e-14);
  EXPECT_GT(decision.runner_up, 1e-6);
}

}  // namespace
}  // namespace exhume::sign_lattice_test
