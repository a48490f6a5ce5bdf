#include "decompose/subspace.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.h"
#include "linalg/symmetric_matrix.h"

namespace exhume::subspace_test {
namespace {

Matrix unit_columns(Index d, Index k, std::uint64_t seed) {
  Matrix V = Stream(seed, "V").normal_matrix(d, k);
  V.colwise().normalize();
  return V;
}

// Largest 1 - |cos| between a true direction and the nearest found one.
double worst_gap(const Matrix& truth, const Matrix& found) {
  if (found.cols() == 0) return 1;
  const Matrix cosines = (truth.transpose() * found).cwiseAbs();
  return 1 - cosines.rowwise().maxCoeff().minCoeff();
}

TEST(SymmetricMatrix, CoordinatesKeepTheFrobeniusProduct) {
  const Matrix R = Stream(1, "R").normal_matrix(5, 5), S = Stream(2, "R").normal_matrix(5, 5);
  const Matrix A = R + R.transpose(), B = S + S.transpose();
  EXPECT_NEAR(to_coordinates(A).dot(to_coordinates(B)), (A * B).trace(), 1e-12);
  EXPECT_LT((from_coordinates(to_coordinates(A)) - A).norm(), 1e-14);
  const Vector v = R.col(0);
  EXPECT_LT((from_coordinates(rank_one_coordinates(v).col(0)) - v * v.transpose()).norm(), 1e-14);
  Matrix features(5, symmetric_size(5));
  quadratic_features(R, features);
  EXPECT_LT((features.transpose() - rank_one_coordinates(R.transpose())).norm(), 1e-13);
}

TEST(Subspace, RestartsFindEveryElementOfAnExactSpan) {
  for (const auto& [d, k] : std::vector<std::pair<Index, Index>>{{1, 1}, {2, 2}, {5, 5}, {6, 12}, {10, 25}}) {
    const Matrix V = unit_columns(d, k, 3);
    const Matrix basis = Eigen::HouseholderQR<Matrix>(rank_one_coordinates(V)).householderQ() *
                         Matrix::Identity(symmetric_size(d), k);
    const RankOneElements found = rank_one_by_restarts(
        basis, k, {.max_iterations = 3000, .tolerance = 1e-13, .starts_per_unit = 60, .accept = 0.999});
    EXPECT_EQ(found.directions.cols(), k) << d << " " << k;
    EXPECT_LT(worst_gap(V, found.directions), 1e-10) << d << " " << k;
  }
}

TEST(Subspace, NothingIsAcceptedInASpanWithoutRankOneElements) {
  // The orthogonal complement of a generic span has no rank-one element for d = 4 and a small dimension.
  const Matrix R = Stream(6, "R").normal_matrix(symmetric_size(4), 2);
  const Matrix basis =
      Eigen::HouseholderQR<Matrix>(R).householderQ() * Matrix::Identity(symmetric_size(4), 2);
  const RankOneElements found = rank_one_by_restarts(basis, 2, {.accept = 0.999});
  EXPECT_EQ(found.directions.cols(), 0);
}

TEST(Subspace, UnitsStandAboveTheNoiseFloor) {
  const Matrix K = rank_one_coordinates(unit_columns(8, 5, 7));
  const Matrix mix = Stream(8, "mix").normal_matrix(5, 9);
  const double noise = 0.02;
  const Matrix first = noise * Stream(9, "E").normal_matrix(K.rows(), 9),
               second = noise * Stream(10, "E").normal_matrix(K.rows(), 9);
  const LeadingSubspace space = leading_subspace(K * mix + first, second, -1);
  // The two noises have the same law, so a sixth value may peep out by a few percent, never by much.
  EXPECT_GE(space.above_noise, 5);
  EXPECT_GT(space.singular_values(4), 2 * space.noise_floor);
  EXPECT_LT(space.singular_values(5), 1.3 * space.noise_floor);
}

}  // namespace
}  // namespace exhume::subspace_test
