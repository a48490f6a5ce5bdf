#include "exhume/papers/memorize.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.h"
#include "normal_rows.h"

namespace exhume::memorize_general_position_test {
namespace {

TEST(GeneralPosition, CapacityIsTheRankOfGenericRows) {
  for (const Index d : {1, 2, 5}) {
    const Index n = static_cast<Index>(two_layer_capacity(d)) + 4;
    const ClosedForm fit = fit_closed_form(normal_rows(n, d, 1), normal_rows(n, 1, 2));
    EXPECT_EQ(fit.rank, static_cast<Index>(two_layer_capacity(d))) << d;
    EXPECT_FALSE(fit.full_rank);
  }
  // Three layers: polynomials of degree 4 in 3 variables, C(6, 4) = 15; k (k+1) / 2 = 6 for k = 3.
  EXPECT_EQ(three_layer_capacity(3, 100, 2), 15);
  EXPECT_EQ(three_layer_capacity(3, 3, 2), 6);
  for (const Index k : {3, 12}) {
    QuadraticNetwork network;
    network.R = normal_rows(k, 3, 5);
    network.power = 2;
    network.W = Matrix::Zero(0, k);
    network.A = Matrix::Zero(1, 0);
    const ClosedForm fit =
        fit_closed_form(first_layer(network, normal_rows(25, 3, 3)), normal_rows(25, 1, 4));
    EXPECT_EQ(fit.rank, static_cast<Index>(three_layer_capacity(3, k, 2))) << k;
  }
}

TEST(GeneralPosition, SizesThatWork) {
  const auto size = three_layer_size(821, 40);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->features, 58);
  EXPECT_EQ(size->power, 2);
  EXPECT_EQ(three_layer_size(100, 2)->power, 50);  // 2p + 1 >= 100
  EXPECT_FALSE(three_layer_size(2, 1));
}

TEST(GeneralPosition, SigmaIsTheSmallestSingularValue) {
  const Index n = 40, d = 12;
  const RowMatrix x = normal_rows(n, d, 9);
  Matrix phi(d * d, n);
  for (Index j = 0; j < n; ++j) {
    for (Index a = 0; a < d; ++a) {
      for (Index b = 0; b < d; ++b) phi(a * d + b, j) = x(j, a) * x(j, b);
    }
  }
  const Vector singular = phi.jacobiSvd().singularValues();
  const ClosedForm fit = fit_closed_form(x, normal_rows(n, 1, 3));
  EXPECT_NEAR(fit.sigma_min, singular(n - 1), 1e-4 * singular(n - 1));
  EXPECT_NEAR(fit.sigma_max, singular(0), 1e-4 * singular(0));
  EXPECT_NEAR(fit.condition, std::pow(singular(0) / singular(n - 1), 2), 1e-3 * fit.condition);
}

TEST(GeneralPosition, ConflictsNameTheRows) {
  RowMatrix x = normal_rows(30, 4, 1), y = normal_rows(30, 1, 2);
  EXPECT_TRUE(find_conflicts(x, y, 2).empty());
  x.row(17) = x.row(4);
  y(17, 0) = y(4, 0);
  EXPECT_TRUE(find_conflicts(x, y, 2).empty()) << "the same label is no conflict";
  y(17, 0) += 1;
  auto conflicts = find_conflicts(x, y, 2);
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_EQ(conflicts[0].first, 4);
  EXPECT_EQ(conflicts[0].second, 17);
  EXPECT_EQ(conflicts[0].scale, 1);
  EXPECT_NE(conflicts[0].describe(y).find("rows 4 and 17"), std::string::npos);

  x.row(17) = -x.row(4);
  conflicts = find_conflicts(x, y, 2);
  ASSERT_EQ(conflicts.size(), 1u) << "f(-x) = f(x)";
  EXPECT_EQ(conflicts[0].scale, -1);

  x.row(17) = 3 * x.row(4);
  y(17, 0) = 9 * y(4, 0);
  EXPECT_TRUE(find_conflicts(x, y, 2).empty()) << "f(3x) = 9 f(x)";
  conflicts = find_conflicts(x, y, 4);
  ASSERT_EQ(conflicts.size(), 1u) << "but 81 f(x) in degree 4";
  EXPECT_NEAR(conflicts[0].scale, 3, 1e-12);

  x.row(2).setZero();
  conflicts = find_conflicts(x, y, 2);
  ASSERT_EQ(conflicts.size(), 1u) << "f(0) = 0";
  EXPECT_EQ(conflicts[0].first, 2);
  EXPECT_EQ(conflicts[0].second, 2);
}

TEST(GeneralPosition, ManyDuplicatesAreCutOffAtTheLimit) {
  RowMatrix x = RowMatrix::Ones(500, 3), y = normal_rows(500, 1, 2);
  EXPECT_EQ(find_conflicts(x, y, 2, 7).size(), 7u);
}

TEST(GeneralPosition, PerturbationIsReproducibleAndOfItsSize) {
  const RowMatrix x = normal_rows(2000, 5, 1), once = perturbed(x, 0.1, 7), twice = perturbed(x, 0.1, 7);
  EXPECT_TRUE(once == twice);
  EXPECT_FALSE(once == perturbed(x, 0.1, 8));
  EXPECT_TRUE(perturbed(x, 0, 7) == x);
  // 10,000 draws: the standard deviation of the estimate is 0.0007.
  EXPECT_NEAR((once - x).norm() / 100, 0.1, 0.004);
  EXPECT_THROW((void)perturbed(x, -1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace exhume::memorize_general_position_test
