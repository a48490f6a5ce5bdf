#include "linalg/lanczos.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.h"

namespace exhume::lanczos_test {
namespace {

TEST(Lanczos, FindsBothEndsOfADenseMatrix) {
  const Matrix g = Stream(1, "lanczos").normal_matrix(60, 60);
  const Matrix h = g + g.transpose();
  const Eigen::SelfAdjointEigenSolver<Matrix> dense(h);
  LanczosOptions options;
  options.tolerance = 1e-13;
  for (const auto end : {LanczosOptions::End::kLargest, LanczosOptions::End::kSmallest}) {
    options.end = end;
    const LanczosResult result =
        lanczos([&](const Vector& in, Vector& out) { out = h * in; }, Vector::Ones(60), options);
    const bool largest = end == LanczosOptions::End::kLargest;
    const double wanted = dense.eigenvalues()(largest ? 59 : 0);
    EXPECT_NEAR(largest ? result.largest : result.smallest, wanted, 1e-10 * std::abs(wanted));
    // A value good to `tolerance` comes with a residual of about its root.
    EXPECT_LE((h * result.vector - wanted * result.vector).norm(), 10 * std::sqrt(1e-13) * std::abs(wanted));
    EXPECT_GE(result.smallest, dense.eigenvalues()(0) - 1e-9);
    EXPECT_LE(result.largest, dense.eigenvalues()(59) + 1e-9);
  }
}

TEST(Lanczos, StopsWhenTheStartIsAnEigenvector) {
  const LanczosResult result = lanczos([](const Vector& in, Vector& out) { out = 3 * in; }, Vector::Ones(10));
  EXPECT_EQ(result.steps, 1);
  EXPECT_TRUE(result.converged);
  EXPECT_DOUBLE_EQ(result.largest, 3);
}

TEST(Lanczos, RefusesAZeroStart) {
  EXPECT_THROW((void)lanczos([](const Vector& in, Vector& out) { out = in; }, Vector::Zero(3)),
               std::invalid_argument);
}

}  // namespace
}  // namespace exhume::lanczos_test
