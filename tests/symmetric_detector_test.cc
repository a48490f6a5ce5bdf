// The pure-neuron detector on exact population moments.
#include "moments/detector.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <Eigen/QR>

#include "certify/symmetry_test.h"
#include "linalg/symmetric_matrix.h"
#include "symmetric_population.h"

namespace exhume::symmetric_detector_test {
namespace {

constexpr double kExact = 1e-10;

// Orthonormal basis of the span of vech(z_i z_i^T), z_i the rows of the inverse of A.
Matrix neuron_span(const Matrix& A) {
  const Matrix Z = rank_one_coordinates(A.inverse().transpose());
  const Eigen::HouseholderQR<Matrix> qr(Z);
  return qr.householderQ() * Matrix::Identity(Z.rows(), Z.cols());
}

TEST(Detector, NullSpaceIsTheSpanOfThePureNeurons) {
  for (const double noise : {0.0, 0.3}) {
    for (const Index k : {2, 3, 5}) {
      const auto population =
          testing::symmetric_population(5, k, k, 80, noise, 0, 11 + static_cast<std::uint64_t>(k));
      const CrossMoments moments = cross_moments(*population.samples, {});
      const Matrix T = pure_neuron_detector(moments, moments.linear_part(), {noise > 0, 0});
      const NullSpace space = null_space(T, k);
      const Matrix truth = neuron_span(population.network.A());
      EXPECT_LE((space.basis - truth * (truth.transpose() * space.basis)).norm(), kExact)
          << "k " << k << " noise " << noise;
      EXPECT_GT(space.gap(), 1e6);
    }
  }
}

TEST(Detector, CoefficientsAreTheDistinguishingMatrix) {
  // f(u) = (1-a)^2 sum_{i<j} c_i c_j N_ij, and with the noise cancelled (1-a)^2 sum c_i c_j (N_ij - m_ij
  // E[xx^T]).
  for (const double leak : {0.0, 0.3}) {
    for (const bool cancel : {false, true}) {
      const Index k = 4;
      const auto population = testing::symmetric_population(5, k, k, 70, cancel ? 0.4 : 0, leak, 21);
      const CrossMoments moments = cross_moments(*population.samples, {});
      const Matrix T = pure_neuron_detector(moments, moments.linear_part(), {cancel, leak});
      const Matrix N = distinguishing_matrix(population.network.W(), *population.samples, {});
      const Vector products = opposite_products(population.network.W(), *population.samples, {});
      const Vector xx = to_coordinates(moments.mean_xx());
      for (int trial = 0; trial < 5; ++trial) {
        const Vector u = Stream(static_cast<std::uint64_t>(trial), "u").normal_matrix(k, 1);
        const Vector c = population.network.A().transpose() * u;
        Vector expected = Vector::Zero(xx.size());
        for (Index j = 1, at = 0; j < k; ++j) {
          for (Index i = 0; i < j; ++i, ++at) {
            expected += c(i) * c(j) * (N.col(at) - (cancel ? products(at) : 0.0) * xx);
          }
        }
        expected *= (1 - leak) * (1 - leak);
        const Vector found = T * rank_one_coordinates(u);
        EXPECT_LE((found - expected).norm(), kExact * (1 + expected.norm()))
            << "leak " << leak << " cancel " << cancel;
      }
    }
  }
}

TEST(Detector, DistinguishingMatrixIsItsDefinition) {
  const Index d = 3, k = 3;
  const RowMatrix x = testing::symmetric_points(d, 20, 4);
  const SamplePtr samples = memory_samples(x, RowMatrix::Zero(x.rows(), 1));
  const Matrix W = Stream(4, "W").normal_matrix(k, d);
  const Matrix M = augmented_distinguishing_matrix(W, *samples, {});
  ASSERT_EQ(M.cols(), k * (k - 1) / 2 + 1);
  Index at = 0;
  for (Index j = 1; j < k; ++j) {
    for (Index i = 0; i < j; ++i, ++at) {
      Matrix naive = Matrix::Zero(d, d);
      for (Index r = 0; r < x.rows(); ++r) {
        const double product = W.row(i).dot(x.row(r)) * W.row(j).dot(x.row(r));
        if (product <= 0) naive += product * x.row(r).transpose() * x.row(r) / static_cast<double>(x.rows());
      }
      EXPECT_LE((M.col(at) - to_coordinates(naive)).norm(), 1e-12 * (1 + naive.norm()));
    }
  }
  EXPECT_LE((M.col(at) - to_coordinates(x.transpose() * x / static_cast<double>(x.rows()))).norm(),
            1e-12 * x.squaredNorm());
}

TEST(Detector, TwoUnitsThatAlwaysShareTheirSignAreNotDistinguished) {
  // On a line, w_1.x and w_2.x have the same sign for every x: N vanishes, and everything lies in the null
  // space.
  RowMatrix x(4, 2);
  x << 1, 2, -1, -2, 2, 4, -2, -4;
  Matrix W(2, 2);
  W << 1, 0, 0, 1;
  const Matrix N = distinguishing_matrix(W, *memory_samples(x, RowMatrix::Zero(4, 1)), {});
  EXPECT_EQ(N.cwiseAbs().maxCoeff(), 0);
  const SamplePtr line = memory_samples(x, RowMatrix::Zero(4, 1));
  EXPECT_EQ(distinguishing_summary(W, *line, {}).least_n, 0);
  EXPECT_GT(distinguishing_summary(W, *line, {}).largest_m, 0);
  const SamplePtr plane = memory_samples(testing::symmetric_points(2, 50, 6), RowMatrix::Zero(100, 1));
  EXPECT_GT(distinguishing_summary(W, *plane, {}).least_m, 1e-3);
}

}  // namespace
}  // namespace exhume::symmetric_detector_test
