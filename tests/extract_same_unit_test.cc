// Kinks of one unit told by their slopes, signs of a layer from kinks above it, and frames of other
// dimensions.
#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "data/planted_deep.h"
#include "extract/moves/resolve_signs.h"
#include "oracle/frame.h"

namespace exhume::extract_same_unit_test {
namespace {

constexpr Index kInputs = 14, kKinks = 6;

Network three_layers(std::uint64_t seed) {
  PlantedDeepOptions options;
  options.inputs = kInputs;
  options.widths = {10, 6, 4};
  options.seed = seed;
  return plant_deep(options);
}

// z of unit j of layer l, from 0, and its slope.
SignFreeLayers::Value unit_at(const Network& network, std::size_t l, Index j, const Vector& u) {
  Vector h = u, z;
  Matrix slopes = Matrix::Identity(u.size(), u.size());
  for (std::size_t i = 0; i <= l; ++i) {
    const Layer& layer = network.layers[i];
    if (i > 0) {
      const Vector on = (z.array() > 0).cast<double>();
      h = z.cwiseMax(0);
      slopes = on.asDiagonal() * slopes;
    }
    z = layer.W * h + layer.b;
    slopes = layer.W * slopes;
  }
  return {z(j), slopes.row(j).transpose()};
}

// Places at which unit j of layer l switches, with their normals.
std::vector<Kink> kinks_of(const Network& network, std::size_t l, Index j) {
  const Stream random(17 * l + static_cast<std::uint64_t>(j), "ends");
  std::vector<Kink> out;
  for (std::uint64_t i = 0; i < 400 && out.size() < static_cast<std::size_t>(kKinks); ++i) {
    RowMatrix ends(2, kInputs);
    random.fill_normal(2 * i, ends);
    Vector a = 2 * ends.row(0).transpose(), b = 2 * ends.row(1).transpose();
    if ((unit_at(network, l, j, a).z < 0) == (unit_at(network, l, j, b).z < 0)) continue;
    for (int half = 0; half < 60; ++half) {
      const Vector middle = (a + b) / 2;
      ((unit_at(network, l, j, middle).z < 0) == (unit_at(network, l, j, a).z < 0) ? a : b) = middle;
    }
    const Vector slope = unit_at(network, l, j, a).slope;
    if (slope.norm() > 0) out.push_back({a, slope.normalized(), Vector::Ones(1), 1e-12});
  }
  return out;
}

Matrix rows(const Layer& layer) {
  Matrix out(layer.W.rows(), layer.W.cols() + 1);
  out << layer.W, layer.b;
  return out;
}

TEST(SameUnit, KinksOfOneUnitAgreeAndOthersDoNot) {
  const Network network = three_layers(1);
  const Matrix V = rows(network.layers[0]);
  const Index k = V.rows();
  Matrix plain(k, k + kInputs + 1);  // max(q, 0) = (|q| + q) / 2
  plain << Matrix(0.5 * Matrix::Identity(k, k)), 0.5 * V;
  std::vector<Kink> kinks;
  std::vector<std::pair<std::size_t, Index>> of;
  for (const std::size_t l : {1, 2}) {
    for (Index j = 0; j < network.layers[l].W.rows(); ++j) {
      for (const Kink& kink : kinks_of(network, l, j)) {
        kinks.push_back(kink);
        of.emplace_back(l, j);
      }
    }
  }
  const auto together = group_kinks_by_unit(SignFreeLayers(kInputs, {V}), plain, kinks);
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < kinks.size(); ++i) {
    for (const std::size_t other : together[i]) EXPECT_EQ(of[i], of[other]);
    if (of[i].first == 1) pairs += together[i].size();
  }
  EXPECT_GT(pairs, 30u);
}

TEST(SameUnit, SignsOfALayerFromKinksAboveIt) {
  const Network network = three_layers(2);
  const Matrix V = rows(network.layers[0]);
  const Layer& second = network.layers[1];
  const Index k = V.rows(), units = second.W.rows();
  const Vector signs = Stream(3, "signs").normal_matrix(units, 1).col(0).array().sign();
  Matrix U(units, k + kInputs + 1);
  U << 0.5 * second.W, 0.5 * second.W * V;
  U.col(k + kInputs) += second.b;
  U = signs.asDiagonal() * U;
  std::vector<Kink> kinks;
  for (Index j = 0; j < network.layers[2].W.rows(); ++j)
    for (const Kink& kink : kinks_of(network, 2, j)) kinks.push_back(kink);
  const SignFreeLayers below(kInputs, {V, U});
  EXPECT_EQ(signs_by_sums(below, units, kinks), signs);
  kinks.resize(1);
  EXPECT_EQ(signs_by_sums(below, units, kinks).size(), 0);  // too few
}

TEST(Frame, QuestionsOfOtherDimensionsLieOnTheSameDirections) {
  const Frame frame(12, 4, 5, {});
  const Frame wide = frame.turned(0, 9);
  const RowMatrix u = Stream(1, "u").normal_matrix(3, 9);
  Queries queries = in_subspace(u);
  EXPECT_LT((frame.points(queries) - wide.points_within(u)).norm(), 1e-12);
  RowMatrix few = u;
  few.rightCols(5).setZero();
  EXPECT_LT((wide.points(in_subspace(few.leftCols(4))) - wide.points_within(few)).norm(), 1e-12);
  queries.turn = 2;
  EXPECT_LT((frame.points(queries) - frame.turned(2, 9).points_within(u)).norm(), 1e-12);
}

}  // namespace
}  // namespace exhume::extract_same_unit_test
