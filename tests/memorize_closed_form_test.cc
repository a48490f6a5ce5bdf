#include "exhume/papers/memorize.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.h"
#include "exhume/error.h"

namespace exhume::memorize_closed_form_test {
namespace {

RowMatrix normal_rows(Index n, Index d, std::uint64_t seed) {
  RowMatrix x(n, d);
  Stream(seed, "rows").fill_normal(0, x);
  return x;
}

ClosedForm fit_with(KernelSolver solver, const RowMatrix& x, const RowMatrix& y, int threads = 1) {
  ClosedFormOptions options;
  options.solver = solver;
  Control control;
  control.threads = threads;
  return fit_closed_form(x, y, options, control);
}

// The least-norm solution, from the whole d^2 x n system by a complete orthogonal decomposition.
TEST(ClosedForm, IsTheLeastNormSolution) {
  const Index n = 30, d = 9, m = 2;
  const RowMatrix x = normal_rows(n, d, 1), y = normal_rows(n, m, 2);
  Matrix phi(n, d * d);
  for (Index j = 0; j < n; ++j) {
    for (Index a = 0; a < d; ++a) {
      for (Index b = 0; b < d; ++b) phi(j, a * d + b) = x(j, a) * x(j, b);
    }
  }
  const Matrix wanted = phi.completeOrthogonalDecomposition().solve(Matrix(y));
  for (const auto solver : {KernelSolver::kAuto, KernelSolver::kCholesky, KernelSolver::kPivoted,
                            KernelSolver::kConjugateGradients}) {
    const ClosedForm fit = fit_with(solver, x, y);
    EXPECT_LE(fit.relative_error, 1e-19) << to_string(solver);
    for (Index o = 0; o < m; ++o) {
      const Matrix form = Eigen::Map<const Matrix>(wanted.col(o).data(), d, d);
      EXPECT_LE((fit.forms[static_cast<std::size_t>(o)] - form).norm(), 1e-8 * form.norm())
          << to_string(solver);
    }
  }
}

TEST(ClosedForm, SizesFromOne) {
  for (const Index d : {1, 2, 3, 8}) {
    for (Index n = 1; n <= d * (d + 1) / 2; n += std::max<Index>(1, d / 2)) {
      const ClosedForm fit = fit_closed_form(normal_rows(n, d, 10), normal_rows(n, 1, 20));
      EXPECT_TRUE(fit.full_rank) << n << " " << d;
      EXPECT_LE(fit.relative_error, 1e-16) << n << " " << d;
    }
  }
}

// Must show: n = d (d+1) / 2 exactly, d = 40.
TEST(ClosedForm, FillsItsCapacityToTheLastRow) {
  const ClosedForm fit = fit_closed_form(normal_rows(820, 40, 5), normal_rows(820, 1, 6));
  EXPECT_TRUE(fit.full_rank);
  EXPECT_LE(fit.relative_error, 1e-20);
  EXPECT_GT(fit.condition, 1e6);
}

TEST(ClosedForm, BitsDoNotDependOnThreads) {
  const RowMatrix x = normal_rows(700, 40, 1), y = normal_rows(700, 2, 2);
  for (const auto solver : {KernelSolver::kAuto, KernelSolver::kPivoted, KernelSolver::kConjugateGradients}) {
    const ClosedForm one = fit_with(solver, x, y, 1), three = fit_with(solver, x, y, 3);
    EXPECT_TRUE(one.forms[0] == three.forms[0] && one.forms[1] == three.forms[1]) << to_string(solver);
    EXPECT_EQ(one.sigma_min, three.sigma_min);
  }
}

TEST(ClosedForm, RepeatedRowsFallBackToPivoting) {
  RowMatrix x = normal_rows(20, 8, 1), y = normal_rows(20, 1, 2);
  x.row(11) = x.row(3);
  y(11, 0) = y(3, 0);
  x.row(12) = -x.row(5);
  y(12, 0) = y(5, 0);
  const ClosedForm fit = fit_closed_form(x, y);
  EXPECT_EQ(fit.solver, KernelSolver::kPivoted);
  EXPECT_EQ(fit.rank, 18);
  EXPECT_FALSE(fit.full_rank);
  EXPECT_EQ(fit.sigma_min, 0);
  EXPECT_LE(fit.relative_error, 1e-24);
}

// Labels that disagree get the least-squares fit: the mean of the two.
TEST(ClosedForm, DisagreeingRepeatsAreFittedInTheMean) {
  RowMatrix x = normal_rows(12, 8, 1), y = normal_rows(12, 1, 2);
  x.row(11) = x.row(3);
  const ClosedForm fit = fit_closed_form(x, y);
  const Matrix values = form_values(x, fit.forms);
  EXPECT_NEAR(values(11, 0), (y(3, 0) + y(11, 0)) / 2, 1e-10);
  EXPECT_NEAR(values(0, 0), y(0, 0), 1e-10);
}

TEST(ClosedForm, PivotedCholeskyServesWhereQrDoesNotFit) {
  RowMatrix x = normal_rows(60, 30, 1), y = normal_rows(60, 1, 2);
  x.row(50) = x.row(3);
  y(50, 0) = y(3, 0);
  ClosedFormOptions options;
  options.memory_bytes = 150e3;  // K is 28.8 kB, Phi 223 kB
  const ClosedForm fit = fit_closed_form(x, y, options);
  EXPECT_EQ(fit.solver, KernelSolver::kPivoted);
  EXPECT_EQ(fit.rank, 59);
  EXPECT_LE(fit.relative_error, 1e-20);
}

TEST(ClosedForm, BeyondMemoryItNeverFormsTheKernel) {
  const Index n = 1500;
  ClosedFormOptions options;
  options.memory_bytes = 16e6;  // K would be 18 MB
  const ClosedForm fit = fit_closed_form(normal_rows(n, 80, 1), normal_rows(n, 1, 2), options);
  EXPECT_EQ(fit.solver, KernelSolver::kConjugateGradients);
  EXPECT_GT(fit.iterations, 10);
  EXPECT_LE(fit.relative_error, 1e-18);
  options.memory_bytes = 1e5;
  EXPECT_THROW((void)fit_closed_form(normal_rows(n, 80, 1), normal_rows(n, 1, 2), options), ResourceError);
}

TEST(ClosedForm, UnitsOfMeasureDoNotMatter) {
  const RowMatrix x = normal_rows(200, 30, 1), y = normal_rows(200, 1, 2);
  RowMatrix scaled = x;
  for (Index j = 0; j < 200; ++j) scaled.row(j) *= std::pow(10, j % 3 - 1);
  EXPECT_LE(fit_closed_form(x * 1e-5, y * 1e9).relative_error, 1e-24);
  EXPECT_LE(fit_closed_form(scaled, y).relative_error, 1e-18);
}

TEST(ClosedForm, RefusesNonsense) {
  EXPECT_THROW((void)fit_closed_form(normal_rows(3, 2, 1), normal_rows(4, 1, 1)), std::invalid_argument);
  EXPECT_THROW((void)fit_closed_form(RowMatrix(0, 2), RowMatrix(0, 1)), std::invalid_argument);
  ClosedFormOptions options;
  options.cg_tolerance = 0;
  EXPECT_THROW((void)fit_closed_form(normal_rows(3, 2, 1), normal_rows(3, 1, 1), options),
               std::invalid_argument);
  // A zero row is fitted by whatever fits the rest.
  RowMatrix x = normal_rows(5, 4, 1), y = normal_rows(5, 1, 2);
  x.row(2).setZero();
  y(2, 0) = 0;
  EXPECT_LE(fit_closed_form(x, y).relative_error, 1e-24);
  EXPECT_EQ(relative_error(Matrix::Constant(3, 1, 2.0), RowMatrix::Constant(3, 1, 2.0)), 0);
}

}  // namespace
}  // namespace exhume::memorize_closed_form_test
