#include "exhume/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/random.h"
#include "random_deep.h"

namespace exhume::deep_network_test {
namespace {

// The equation of the header, one row and one number at a time.
Vector by_hand(const Network& network, const Vector& x) {
  std::vector<Vector> h{x};
  Vector z;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    z = layer.b;
    for (Index i = 0; i < z.size(); ++i) {
      for (Index j = 0; j < layer.W.cols(); ++j) z(i) += layer.W(i, j) * h.back()(j);
      Index column = 0;
      for (std::size_t low = 0; layer.L.size() != 0 && low + 1 < h.size(); ++low)
        for (Index j = 0; j < h[low].size(); ++j) z(i) += layer.L(i, column++) * h[low](j);
    }
    h.push_back(z.cwiseMax(0.0));
  }
  return z;
}

double apart(const Network& p, const Network& q) {
  const RowMatrix x = Stream(77, "x").normal_matrix(200, p.inputs());
  const RowMatrix y = evaluate(p, x);
  return (y - evaluate(q, x)).cwiseAbs().maxCoeff() / y.cwiseAbs().maxCoeff();
}

TEST(Network, EvaluatesItsEquation) {
  for (bool skips : {false, true}) {
    const Network network = random_deep({4, 6, 5, 3, 2}, 5, skips);
    network.validate();
    EXPECT_EQ(network.has_skip_terms(), skips);
    EXPECT_EQ(network.widths(), (std::vector<Index>{6, 5, 3}));
    const RowMatrix x = Stream(6, "x").normal_matrix(20, 4), y = evaluate(network, x);
    for (Index r = 0; r < 20; ++r)
      EXPECT_LT((y.row(r).transpose() - by_hand(network, x.row(r).transpose())).norm(), 1e-12);
  }
}

TEST(Network, OneHiddenLayerHasNamesForItsWeights) {
  Network network = random_deep({4, 6, 2}, 8, true);
  EXPECT_EQ(network.W(), network.layers[0].W);
  EXPECT_EQ(network.b(), network.layers[0].b);
  EXPECT_EQ(network.A(), network.layers[1].W);
  EXPECT_EQ(network.c(), network.layers[1].b);
  EXPECT_EQ(network.L(), network.layers[1].L);
  const Network same(network.W(), network.b(), network.A(), network.c(), network.L());
  EXPECT_EQ(align(same, network).worst_error, 0);
  Network empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(std::as_const(empty).W().size(), 0);
  EXPECT_TRUE(empty.empty());
  empty.c() = Vector::Ones(2);
  EXPECT_EQ(empty.depth(), 1);
  Network deep = random_deep({4, 3, 3, 1}, 1, false);
  EXPECT_THROW((void)deep.W(), std::logic_error);
}

TEST(Network, TurningUnitsKeepsTheFunction) {
  for (bool skips : {false, true}) {
    const Network network = random_deep({4, 6, 5, 3, 2}, 11, skips);
    for (Index l = 0; l < 3; ++l) {
      const Network turned = with_units_turned(network, l, {0, 2});
      turned.validate();
      EXPECT_LT(apart(network, turned), 1e-13);
      EXPECT_GT(align(network, turned).worst_error, 0.1);
    }
  }
}

TEST(Network, AlignmentUndoesPermutationScaleAndSigns) {
  for (bool skips : {false, true}) {
    const Network network = random_deep({4, 6, 5, 2}, 21, skips);
    Network other = network;
    for (Index i = 0; i < 6; ++i) {
      const Index j = (5 * i + 2) % 6;
      const double s = 0.5 + static_cast<double>(i);
      other.layers[0].W.row(j) = s * network.layers[0].W.row(i);
      other.layers[0].b(j) = s * network.layers[0].b(i);
      other.layers[1].W.col(j) = network.layers[1].W.col(i) / s;
      if (skips) other.layers[2].L.col(4 + j) = network.layers[2].L.col(4 + i) / s;
    }
    EXPECT_LT(apart(network, other), 1e-13);
    const Alignment same = align(network, other);
    EXPECT_TRUE(same.comparable);
    EXPECT_LT(same.worst_error, 1e-13);
    EXPECT_EQ(same.worst_of_layer.size(), 3u);
    const Network turned = with_units_turned(with_units_turned(other, 1, {3}), 0, {1, 4});
    EXPECT_LT(apart(network, turned), 1e-13);
    EXPECT_LT(align(turned, network, {.free_signs = true}).worst_error, 1e-12);
    other.layers[1].b(2) += 0.25;
    EXPECT_GT(align(network, other).worst_error, 0.01);
  }
}

TEST(Network, CanonicalKeepsTheFunctionAndDropsIdleUnits) {
  for (bool skips : {false, true}) {
    Network network = random_deep({4, 6, 5, 3, 2}, 31, skips);
    network.layers[0].W.row(2).setZero();  // a constant
    network.layers[1].W.row(1).setZero();
    if (skips) network.layers[1].L.row(1).setZero();
    network.layers[2].W.col(3).setZero();  // nothing stands on unit 3
    if (skips) network.layers[3].L.col(4 + 6 + 3).setZero();
    const Network form = canonical(network);
    EXPECT_EQ(form.widths(), (std::vector<Index>{5, 3, 3}));
    EXPECT_LT(apart(network, form), 1e-13);
    for (std::size_t l = 0; l < 3; ++l) {
      const Layer& layer = form.layers[l];
      for (Index i = 0; i < layer.W.rows(); ++i) {
        EXPECT_NEAR(layer.W.row(i).norm(), 1, 1e-14);
      }
    }
    const Network again = canonical(form);
    EXPECT_LT(align(form, again).worst_error, 1e-14);
    EXPECT_FALSE(align(network, random_deep({4, 6, 5, 3, 2}, 31, skips)).comparable);
  }
}

TEST(Network, RefusesShapesThatDoNotFit) {
  Network network = random_deep({4, 6, 5, 2}, 41, false);
  network.layers[1].b.conservativeResize(4);
  EXPECT_THROW(network.validate(), std::invalid_argument);
  network = random_deep({4, 6, 5, 2}, 41, true);
  network.layers[2].L.conservativeResize(2, 9);
  EXPECT_THROW(network.validate(), std::invalid_argument);
  network = random_deep({4, 6, 5, 2}, 41, false);
  network.layers[0].W(1, 1) = std::nan("");
  EXPECT_THROW(network.validate(), std::invalid_argument);
  EXPECT_THROW((void)evaluate(random_deep({4, 3, 1}, 1, false), RowMatrix::Zero(2, 5)),
               std::invalid_argument);
}

}  // namespace
}  // namespace exhume::deep_network_test
