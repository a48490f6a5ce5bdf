#include "linalg/eigen_products.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "exhume/types.h"
#include "normal_rows.h"

namespace exhume::eigen_products_test {
namespace {

// Coefficient by coefficient, by Eigen alone.
template <class A, class B>
Matrix by_hand(const A& a, const B& b) {
  return a.lazyProduct(b);
}

// Sizes on either side of where dgemm takes over, and those that turn out to be vectors or empty.
const std::vector<std::array<Index, 3>> kSizes = {{1, 1, 1}, {1, 5, 3},  {7, 1, 4},  {3, 4, 5},    {6, 6, 7},
                                                  {6, 6, 8}, {30, 1, 9}, {1, 31, 9}, {40, 33, 27}, {5, 4, 0},
                                                  {0, 4, 3}, {4, 0, 30}, {2, 2, 90}, {90, 2, 1}};

TEST(Products, EveryLayoutGivesTheProduct) {
  for (const auto& [m, n, k] : kSizes) {
    const RowMatrix a_rows = normal_rows(m, k, 1), b_rows = normal_rows(k, n, 2);
    const Matrix a = a_rows, b = b_rows, a_turned = a.transpose(), b_turned = b.transpose();
    const Matrix wanted = by_hand(a, b);
    const double within = 1e-13 * static_cast<double>(k + 1);
    const auto near = [&](const auto& c) {
      return c.rows() == m && c.cols() == n && (m * n == 0 || (c - wanted).cwiseAbs().maxCoeff() <= within);
    };
    EXPECT_TRUE(near(Matrix(a * b)));
    EXPECT_TRUE(near(Matrix(a_rows * b)));
    EXPECT_TRUE(near(Matrix(a * b_rows)));
    EXPECT_TRUE(near(Matrix(a_turned.transpose() * b_turned.transpose())));
    EXPECT_TRUE(near(RowMatrix(a * b)));
    EXPECT_TRUE(near(RowMatrix(a_rows * b_rows)));
    EXPECT_TRUE(near(RowMatrix(a_turned.transpose() * b_rows)));
    EXPECT_TRUE(near(Matrix((2 * a) * (b / 2))));    // factors
    EXPECT_TRUE(near(Matrix((a + a) * b - a * b)));  // no memory of its own
  }
}

TEST(Products, BlocksAreAddedToAndTakenFrom) {
  for (const auto& [m, n, k] : kSizes) {
    const Matrix a = normal_rows(m + 2, k + 3, 3), b = normal_rows(k + 1, n + 4, 4);
    const auto left = a.block(1, 2, m, k);
    const auto right = b.block(1, 3, k, n);
    const Matrix product = by_hand(left, right);
    const double within = 1e-13 * static_cast<double>(k + 1);
    const RowMatrix start = normal_rows(m + 3, n + 5, 5);
    RowMatrix rows = start;
    rows.block(2, 1, m, n) += left * right;
    rows.block(2, 1, m, n) -= product;
    EXPECT_LE((rows - start).cwiseAbs().maxCoeff(), within);
    Matrix columns = start;
    columns.block(1, 4, m, n).noalias() -= 3 * left * right;
    columns.block(1, 4, m, n) += 3 * product;
    EXPECT_LE((columns - start).cwiseAbs().maxCoeff(), 3 * within);
  }
}

}  // namespace
}  // namespace exhume::eigen_products_test
