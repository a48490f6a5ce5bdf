// Reduced bases and points next to a target, beside plain enumeration.
#include "linalg/lattice.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace exhume::lattice_test {
namespace {

// Nearly rectangular, whole numbers, so that nothing is rounded.
Matrix good_basis(Index size, std::uint64_t seed) {
  return (100 * Matrix::Identity(size, size) + 6 * Stream(seed, "good").normal_matrix(size, size))
      .array()
      .round();
}

// A random unimodular matrix: the lattice stays the same, its basis becomes bad.
Matrix scrambled(Matrix basis, std::uint64_t seed) {
  const Matrix times =
      (0.5 * Stream(seed, "times").normal_matrix(basis.cols(), basis.cols())).array().round();
  for (Index j = 1; j < basis.cols(); ++j) {
    for (Index i = 0; i < j; ++i) basis.col(j) += times(i, j) * basis.col(i);
  }
  for (Index j = basis.cols() - 2; j >= 0; --j) basis.col(j) += times(j + 1, j) * basis.col(j + 1);
  return basis;
}

// Every integer vector of `size` with entries of at most `most`.
template <class Visit>
void visit_all(Index size, int most, const Visit& visit) {
  Vector z = Vector::Constant(size, -most);
  for (;;) {
    visit(z);
    Index i = 0;
    while (i < size && z(i) == most) z(i++) = -most;
    if (i == size) return;
    z(i) += 1;
  }
}

TEST(Lattice, FindsShortVectorsAgain) {
  const Matrix good = good_basis(24, 1), bad = scrambled(good, 2);
  ASSERT_GT(bad.colwise().norm().maxCoeff(), 10 * good.colwise().norm().maxCoeff());
  const Lattice lattice(bad);
  EXPECT_LT(lattice.basis().colwise().norm().maxCoeff(), 1.5 * good.colwise().norm().maxCoeff());
  // The same lattice: each basis is an integer combination of the other, with determinant +-1.
  const Matrix change = good.fullPivLu().solve(lattice.basis());
  EXPECT_LT((change.array() - change.array().round()).abs().maxCoeff(), 1e-8);
  EXPECT_NEAR(std::abs(change.determinant()), 1, 1e-6);
}

TEST(Lattice, NoPointIsShorterThanItsBound) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Matrix basis = Stream(seed, "basis").normal_matrix(6, 4);
    const Lattice lattice(scrambled(basis, seed + 100));
    double shortest = std::numeric_limits<double>::infinity();
    visit_all(4, 6, [&](const Vector& z) {
      if (z.norm() > 0) shortest = std::min(shortest, (lattice.basis() * z).norm());
    });
    EXPECT_LE(lattice.least_length(), shortest * (1 + 1e-12)) << seed;
    EXPECT_GT(lattice.least_length(), shortest / 4) << seed;
  }
}

TEST(Lattice, RoundingLeadsToThePointThatIsNear) {
  const Matrix good = good_basis(30, 3);
  const Lattice lattice(scrambled(good, 4));
  const Vector z = (7 * Stream(5, "z").normal_matrix(30, 1)).array().round();
  Vector off = Stream(6, "off").normal_matrix(30, 1);
  off *= 0.49 * lattice.least_length() / off.norm();
  EXPECT_LT((lattice.point_near(good * z + off) - good * z).norm(), 1e-9);
}

}  // namespace
}  // namespace exhume::lattice_test
