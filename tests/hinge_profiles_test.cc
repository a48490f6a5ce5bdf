// Rows along each unit (judge/hinge_profiles.h).
#include "judge/hinge_profiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/planted.h"
#include "exhume/network.h"
#include "normal_rows.h"

namespace exhume::hinge_profiles_test {
namespace {

constexpr double kRounding = 1e-13;  // of outputs of size 1

double gap(const HingeProfile& profile) { return (profile.mean - profile.own).cwiseAbs().maxCoeff(); }

TEST(HingeProfiles, AnExactNetworkLiesOnItsUnits) {
  const Network truth = canonical(plant({.inputs = 4, .hidden = 15, .outputs = 2, .seed = 3}));
  const RowMatrix x = normal_rows(1000, 4, 1), y = evaluate(truth, x);
  const std::vector<HingeProfile> profiles = hinge_profiles(truth, parse_rectifier("relu"), x, y);
  ASSERT_EQ(profiles.size(), static_cast<std::size_t>(kProfiledUnits));
  for (const HingeProfile& each : profiles) {
    EXPECT_LT(gap(each), kRounding * truth.A().cwiseAbs().maxCoeff() * 100);
    EXPECT_TRUE(std::is_sorted(each.at.begin(), each.at.end()));
    EXPECT_LE(each.at.size(), kProfileNodes);
    // Where all rows at a point are on one side, the unit is a max(z, 0).
    for (Index p = 0; p < each.at.size(); ++p) {
      const double a = truth.A()(each.output, each.unit), step = 0.25;
      if (each.at(p) > step) {
        EXPECT_NEAR(each.own(p), a * each.at(p), 1e-9);
      }
      if (each.at(p) < -step) {
        EXPECT_EQ(each.own(p), 0);
      }
    }
  }
}

// The same sums, node by node with weights max(0, 1 - |z - t| / step).
TEST(HingeProfiles, AreTheMeansThatTheFormulaSays) {
  const Network truth(Matrix::Constant(1, 1, 1.0), Vector::Constant(1, 0.25), Matrix::Constant(1, 1, 2.0),
                      Vector::Constant(1, -1.0));
  const Index n = 200;
  RowMatrix x = normal_rows(n, 1, 2), y = evaluate(truth, x);
  y += 0.1 * normal_rows(n, 1, 3);
  const std::vector<HingeProfile> profiles = hinge_profiles(truth, parse_rectifier("relu"), x, y);
  ASSERT_EQ(profiles.size(), 1u);
  const Vector z = x.col(0).array() + 0.25;
  const double sd = std::sqrt((z.array() - z.mean()).square().mean());
  const double low = std::max(z.mean() - 3 * sd, z.minCoeff());
  const double high = std::min(z.mean() + 3 * sd, z.maxCoeff());
  const double step = (high - low) / static_cast<double>(kProfileNodes - 1);
  Index shown = 0;
  for (Index k = 0; k < kProfileNodes; ++k) {
    double rows = 0, at = 0, mean = 0;
    for (Index i = 0; i < n; ++i) {
      const double share = 1 - std::abs(z(i) - low - step * static_cast<double>(k)) / step;
      if (share <= 0 || z(i) < low - 1e-12 || z(i) > high + 1e-12) continue;
      rows += share;
      at += share * z(i);
      mean += share * (y(i, 0) + 1);
    }
    if (rows < 0.41) continue;
    ASSERT_LT(shown, profiles[0].at.size());
    EXPECT_NEAR(profiles[0].at(shown), at / rows, 1e-10);
    EXPECT_NEAR(profiles[0].mean(shown), mean / rows, 1e-10);
    ++shown;
  }
  EXPECT_EQ(shown, profiles[0].at.size());
}

TEST(HingeProfiles, AWrongUnitLeavesItsLine) {
  const Network truth = canonical(plant({.inputs = 3, .hidden = 4, .outputs = 1, .seed = 5}));
  const RowMatrix x = normal_rows(2000, 3, 1), y = evaluate(truth, x);
  Network wrong = truth;
  wrong.b()(1) += 1;
  const std::vector<HingeProfile> profiles = hinge_profiles(wrong, parse_rectifier("relu"), x, y);
  ASSERT_EQ(profiles.size(), 4u);
  EXPECT_GT(gap(profiles[1]), 0.1 * std::abs(truth.A()(0, 1)));
}

// Other machines have other last bits: these may move nothing but last bits.
TEST(HingeProfiles, AreContinuousInTheWeights) {
  const Network truth = canonical(plant({.inputs = 3, .hidden = 4, .outputs = 2, .seed = 6}));
  const RowMatrix x = (4 * normal_rows(500, 3, 1)).array().round() / 4, y = evaluate(truth, x);
  Network moved = truth;
  moved.W() *= 1 + 1e-14;
  const auto before = hinge_profiles(truth, parse_rectifier("relu"), x, y);
  const auto after = hinge_profiles(moved, parse_rectifier("relu"), x, y);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t j = 0; j < before.size(); ++j) {
    ASSERT_EQ(before[j].at.size(), after[j].at.size());
    EXPECT_LT((before[j].at - after[j].at).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_LT((before[j].mean - after[j].mean).cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(HingeProfiles, NothingWhereNothingVaries) {
  const Network truth = canonical(plant({.inputs = 2, .hidden = 2, .outputs = 1, .seed = 7}));
  const RowMatrix x = RowMatrix::Ones(10, 2), y = evaluate(truth, x);
  EXPECT_TRUE(hinge_profiles(truth, parse_rectifier("relu"), x, y).empty());
  EXPECT_TRUE(hinge_profiles(truth, parse_rectifier("relu"), x.topRows(1), y.topRows(1)).empty());
}

}  // namespace
}  // namespace exhume::hinge_profiles_test
