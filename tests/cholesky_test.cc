#include "linalg/cholesky.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.h"

namespace exhume::cholesky_test {
namespace {

Matrix positive_definite(Index n) {
  const Matrix g = Stream(7, "cholesky test").normal_matrix(n, n + 3);
  return g * g.transpose() / static_cast<double>(n + 3) + Matrix::Identity(n, n) * 0.01;
}

Control threads(int count) {
  Control control;
  control.threads = count;
  return control;
}

TEST(Cholesky, FactorsAndSolvesAtSizesAroundTheBlocks) {
  for (const Index n : {0, 1, 2, 3, 255, 256, 257, 511, 769, 1100}) {
    const Matrix k = positive_definite(n);
    Matrix factor = k;
    ASSERT_EQ(cholesky_in_place(factor, threads(2)), -1) << n;
    if (n == 0) continue;
    const Matrix l = factor.triangularView<Eigen::Lower>();
    EXPECT_LE((l * l.transpose() - k).cwiseAbs().maxCoeff(), 1e-15 * static_cast<double>(n + 10) * k.norm())
        << n;
    for (const Index columns : {1, 3, 7}) {
      const Matrix x = Stream(8, "x").normal_matrix(n, columns);
      Matrix b = k * x;
      cholesky_solve(factor, b);
      // The condition number is below 4.1 / 0.01 and the error eps times it times the size, at most.
      EXPECT_LE((b - x).norm(), 2.3e-16 * 410 * static_cast<double>(n + 10) * x.norm()) << n;
    }
  }
}

TEST(Cholesky, BitsDoNotDependOnThreads) {
  const Matrix k = positive_definite(1300);
  Matrix one = k, three = k;
  ASSERT_EQ(cholesky_in_place(one, threads(1)), -1);
  ASSERT_EQ(cholesky_in_place(three, threads(3)), -1);
  EXPECT_TRUE((one.array() == three.array()).all());
}

TEST(Cholesky, ReadsAndWritesOnlyTheLowerTriangle) {
  Matrix whole = positive_definite(300), half = whole;
  half.triangularView<Eigen::StrictlyUpper>().setConstant(-3);
  ASSERT_EQ(cholesky_in_place(whole), -1);
  ASSERT_EQ(cholesky_in_place(half), -1);
  for (Index j = 0; j < 300; ++j) {
    for (Index i = 0; i < 300; ++i) {
      ASSERT_EQ(half(i, j), i >= j ? whole(i, j) : -3) << i << " " << j;
    }
  }
}

TEST(Cholesky, NamesTheFirstColumnThatIsNotPositive) {
  for (const Index bad : {0, 5, 256, 299}) {
    Matrix k = Matrix::Identity(300, 300);
    k(bad, bad) = -1;
    EXPECT_EQ(cholesky_in_place(k), bad);
  }
  Matrix oblong(3, 4);
  EXPECT_THROW((void)cholesky_in_place(oblong), std::invalid_argument);
}

}  // namespace
}  // namespace exhume::cholesky_test
