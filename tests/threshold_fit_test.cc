#include "papers/threshold/unit_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "papers/threshold/models.h"
#include "papers/threshold/refine.h"

namespace exhume::threshold_fit_test {
namespace {

double angle(const Vector& a, const Vector& b) { return 2 * std::atan2((a - b).norm(), (a + b).norm()); }

// The first axis turned by `by` towards a random direction.
Vector turned(Index d, double by, std::uint64_t seed) {
  Vector v = Stream(seed, "turn").normal_matrix(d, 1);
  v(0) = 0;
  Vector z = std::sin(by) * v.normalized();
  z(0) = std::cos(by);
  return z;
}

// Rows of one unit alone, along the first axis, threshold 2, output q(a) where active.
template <class Q>
AloneRows rows_of(Index n, Index d, std::uint64_t seed, const Q& q) {
  RowMatrix x(n, d);
  Stream(seed, "rows").fill_normal(0, x);
  std::vector<Index> near;
  for (Index r = 0; r < n; ++r) {
    if (x(r, 0) > 1.4) near.push_back(r);
  }
  AloneRows out{RowMatrix(static_cast<Index>(near.size()), d), Vector(static_cast<Index>(near.size()))};
  for (std::size_t i = 0; i < near.size(); ++i) {
    out.x.row(static_cast<Index>(i)) = x.row(near[i]);
    const double a = x(near[i], 0) - 2;
    out.y(static_cast<Index>(i)) = a > 0 ? q(a) : 0.0;
  }
  return out;
}

RestLevel exact_rest() {
  RestLevel rest;
  rest.exact = true;
  rest.share = 0.9;
  rest.tolerance = 1e-13;
  return rest;
}

TEST(KinkFit, PolynomialResponsesComeOutExactly) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const AloneRows rows =
        rows_of(20000, 6, seed, [](double a) { return 0.3 * a - 0.7 * a * a + a * a * a; });
    const UnitFit fit = fit_kink(rows, turned(6, 0.1, seed), 1.95, exact_rest(), {.degree = 3, .steps = 12});
    ASSERT_EQ(fit.outcome, FitOutcome::kFitted);
    EXPECT_LT(angle(fit.w, Vector::Unit(6, 0)), 1e-11) << "seed " << seed;
    EXPECT_NEAR(fit.t, 2, 1e-9);
    EXPECT_NEAR(fit.size, 0.3, 1e-6);
    EXPECT_GT(fit.response, 0.99);
  }
}

TEST(KinkFit, SmoothResponsesComeOutToTheDegree) {
  const AloneRows rows = rows_of(40000, 5, 4, [](double a) { return 1 / (1 + std::exp(-3 * a)) - 0.5; });
  const UnitFit fit = fit_kink(rows, turned(5, 0.1, 4), 2.05, exact_rest());
  EXPECT_LT(angle(fit.w, Vector::Unit(5, 0)), 1e-3);
  EXPECT_NEAR(fit.t, 2, 1e-2);
}

TEST(KinkFit, TooFewRowsLeaveTheUnitAsItWas) {
  const AloneRows rows = rows_of(60, 6, 5, [](double a) { return a; });
  const Vector z = turned(6, 0.1, 5);
  const UnitFit fit = fit_kink(rows, z, 2, exact_rest());
  EXPECT_EQ(fit.outcome, FitOutcome::kTooFewRows);
  EXPECT_EQ(fit.w, z);
}

TEST(StepFit, LabelsWithoutNoiseEndAtTheMaximumMargin) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const AloneRows rows = rows_of(200000, 6, seed, [](double) { return 1.0; });
    const UnitFit fit = fit_step(rows, turned(6, 0.12, seed), 2.05);
    ASSERT_EQ(fit.outcome, FitOutcome::kFitted);
    EXPECT_GT(fit.margin, 0);
    EXPECT_LT(angle(fit.w, Vector::Unit(6, 0)), 2e-3) << "seed " << seed;
    EXPECT_NEAR(fit.t, 2, 1e-3);
    EXPECT_EQ(fit.response, 1);
    for (Index r = 0; r < rows.y.size(); ++r) {
      ASSERT_EQ(rows.x.row(r).dot(fit.w) > fit.t, rows.y(r) > 0.5) << "row " << r;
    }
  }
}

TEST(StepFit, TurnedLabelsAreAveragedOut) {
  AloneRows rows = rows_of(400000, 6, 7, [](double) { return 1.0; });
  const Vector coins = Stream(7, "coins").uniform_vector(rows.y.size(), 0, 1);
  for (Index r = 0; r < rows.y.size(); ++r) {
    if (coins(r) < 0.02) rows.y(r) = 1 - rows.y(r);
  }
  const UnitFit fit = fit_step(rows, turned(6, 0.12, 7), 2.05);
  ASSERT_EQ(fit.outcome, FitOutcome::kFitted);
  EXPECT_EQ(fit.margin, 0);
  EXPECT_LT(angle(fit.w, Vector::Unit(6, 0)), 0.01);
  EXPECT_NEAR(fit.t, 2, 0.01);
  EXPECT_NEAR(fit.size, 0.96, 0.02);
}

TEST(MaximumMargin, IsTheMiddleOfTheGap) {
  // On the line: labels change between 1 and 3, so the cut c = 2 has margin 1.
  const Vector g{{-5, 0, 1, 3, 4}}, labels{{-1, -1, -1, 1, 1}};
  const MaximumMargin best = maximum_margin(Matrix::Zero(5, 1), g, labels);
  EXPECT_NEAR(best.c, 2, 1e-4);
  EXPECT_NEAR(best.margin, 1, 1e-4);
}

TEST(MaximumMargin, SaysThatLabelsAreNotSeparable) {
  const Vector g{{0, 1, 2}}, labels{{-1, 1, -1}};
  EXPECT_LT(maximum_margin(Matrix::Zero(3, 1), g, labels).margin, 0);
}

TEST(RestLevel, TellsNoiseFromAnExactLevel) {
  const ThresholdModel model = plant(ThresholdPlan{.inputs = 8, .hidden = 4, .seed = 8});
  const RestLevel exact = rest_level(*threshold_samples(model, {.samples = 20000, .seed = 8}));
  EXPECT_TRUE(exact.exact);
  EXPECT_EQ(exact.value, 0);
  EXPECT_NEAR(exact.share, std::pow(0.97725, 4), 0.02);
  const RestLevel noisy = rest_level(*threshold_samples(model, {.samples = 20000, .noise = 0.1, .seed = 8}));
  EXPECT_FALSE(noisy.exact);
  EXPECT_NEAR(noisy.noise_sd, 0.1, 0.02);
}

TEST(AloneRows, AreThoseOfANaiveLoop) {
  const ThresholdModel model = plant(ThresholdPlan{.inputs = 5, .hidden = 3, .threshold = 1, .seed = 9});
  const SamplePtr samples = threshold_samples(model, {.samples = 9001, .seed = 9});
  const LowestUnits units{model.W, model.t};
  Control two;
  two.threads = 2;
  const auto rows = alone_rows(*samples, units, 0.5, 0.1, two);
  SampleBlock block;
  samples->read(0, 9001, block);
  for (Index i = 0; i < 3; ++i) {
    Index count = 0;
    for (Index r = 0; r < 9001; ++r) {
      const Vector z = model.W * block.x().row(r).transpose();
      bool mine = z(i) >= 1 - 0.5;
      for (Index j = 0; j < 3; ++j) mine = mine && (j == i || z(j) < 1 - 0.1);
      if (!mine) continue;
      ASSERT_LT(count, rows[static_cast<std::size_t>(i)].y.size());
      EXPECT_EQ(rows[static_cast<std::size_t>(i)].y(count), block.y()(r, 0));
      ++count;
    }
    EXPECT_EQ(count, rows[static_cast<std::size_t>(i)].y.size());
    EXPECT_GT(count, 100);
  }
}

TEST(TanAlpha, EstimatesTheAngleWithinAFifth) {
  const AloneRows rows = rows_of(2000000, 5, 10, [](double) { return 1.0; });
  for (const double by : {0.05, 0.1, 0.2}) {
    const TanAlpha found = estimate_tan_alpha(rows, exact_rest(), turned(5, by, 10), 1500);
    EXPECT_NEAR(found.tan_alpha / std::tan(by), 1, 0.2) << by;
    EXPECT_LT(found.t1, found.t2);
  }
}

TEST(TanAlpha, RefineEstimateBringsTheAngleDown) {
  const AloneRows rows = rows_of(1000000, 5, 11, [](double) { return 1.0; });
  const Vector z = turned(5, 0.2, 11);
  const Refined refined =
      refine_estimate(rows, exact_rest(), z, {.perturbations = 150, .target = 0.03, .seed = 11});
  EXPECT_GT(refined.accepted, 3);
  EXPECT_LT(angle(refined.direction, Vector::Unit(5, 0)), 0.1);
}

TEST(TanAlpha, WithoutActivityThereIsNoAngle) {
  const AloneRows rows = rows_of(20000, 5, 12, [](double) { return 0.0; });
  EXPECT_TRUE(std::isinf(estimate_tan_alpha(rows, exact_rest(), Vector::Unit(5, 0), 100).tan_alpha));
}

}  // namespace
}  // namespace exhume::threshold_fit_test
