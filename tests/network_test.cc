#include "exhume/network.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "refusal.h"

namespace exhume::network_test {
namespace {

Network random_network(Index d, Index k, Index m, std::uint64_t seed) {
  Network network;
  network.W() = Stream(seed, "W").normal_matrix(k, d);
  network.b() = Stream(seed, "b").normal_matrix(k, 1).col(0);
  network.A() = Stream(seed, "A").normal_matrix(m, k);
  network.c() = Stream(seed, "c").normal_matrix(m, 1).col(0);
  return network;
}

TEST(Network, EvaluatesIntegersExactly) {
  Network network;
  network.W() = (Matrix(2, 2) << 1, -1, 2, 0).finished();
  network.b() = (Vector(2) << 0, -3).finished();
  network.A() = (Matrix(1, 2) << 2, -1).finished();
  network.c() = (Vector(1) << 5).finished();
  const RowMatrix x = (RowMatrix(2, 2) << 3, 1, 0, 4).finished();
  const RowMatrix y = evaluate(network, x);
  EXPECT_EQ(y(0, 0), 2 * 2 - 3 + 5);
  EXPECT_EQ(y(1, 0), 5);
}

TEST(Network, AlignmentUndoesPermutationAndScale) {
  const Network network = random_network(5, 7, 3, 1);
  Network other = network;
  for (Index i = 0; i < 7; ++i) {
    const Index j = (3 * i + 2) % 7;
    const double s = 0.5 + static_cast<double>(i);
    other.W().row(j) = s * network.W().row(i);
    other.b()(j) = s * network.b()(i);
    other.A().col(j) = network.A().col(i) / s;
  }
  const Alignment same = align(network, other);
  EXPECT_TRUE(same.comparable);
  EXPECT_LT(same.worst_error, 1e-14);
  other.b()(2) += 0.25 * other.W().row(2).norm();
  EXPECT_NEAR(align(network, other).worst_error, 0.25, 1e-14);
}

TEST(Network, FreeSignsMatchTurnedUnits) {
  const Network network = random_network(4, 6, 2, 2);
  const Network turned = with_units_turned(network, 0, {1, 4});
  const RowMatrix x = Stream(3, "x").normal_matrix(50, 4);
  EXPECT_LT((evaluate(network, x) - evaluate(turned, x)).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_GT(align(network, turned).worst_error, 0.1);
  EXPECT_LT(align(network, turned, {.free_signs = true}).worst_error, 1e-13);
}

TEST(Network, CanonicalDropsIdleUnits) {
  Network network = random_network(3, 4, 2, 4);
  network.A().col(1).setZero();
  network.W().row(2).setZero();
  const Network reduced = canonical(network);
  EXPECT_EQ(reduced.hidden(), 2);
  const RowMatrix x = Stream(5, "x").normal_matrix(20, 3);
  EXPECT_LT((evaluate(network, x) - evaluate(reduced, x)).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Network, DifferentSizesAreNotComparable) {
  EXPECT_FALSE(align(random_network(3, 4, 1, 1), random_network(3, 5, 1, 1)).comparable);
}

TEST(Network, AssignmentBeatsEveryPermutation) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Matrix cost = Stream(seed, "cost").normal_matrix(6, 6);
    const auto value = [&](const std::vector<Index>& p) {
      double sum = 0;
      for (Index i = 0; i < 6; ++i) sum += cost(i, p[i]);
      return sum;
    };
    const double found = value(optimal_assignment(cost));
    std::vector<Index> p = {0, 1, 2, 3, 4, 5};
    double best = value(p);
    while (std::next_permutation(p.begin(), p.end())) best = std::min(best, value(p));
    EXPECT_DOUBLE_EQ(found, best) << "seed " << seed;
  }
}

TEST(Network, ValidateNamesTheShape) {
  Network network = random_network(3, 4, 2, 6);
  network.b().conservativeResize(3);
  expect_refused<std::invalid_argument>([&] { network.validate(); }, {"size of b is 3", "4"});
}

}  // namespace
}  // namespace exhume::network_test
