// Noisy data as a statistician reads them: dependent noise and jumps are told, intervals are in the data's
// own units, and linear regression is what is left where there is no unit.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <string>

#include "base/limits.h"
#include "base/random.h"
#include "exhume/recover.h"
#include "planted_data.h"

namespace exhume::honest_intervals_test {
namespace {

struct Rows {
  Network network;
  RowMatrix x, y;
  RowMatrix e;  // standard normals
};

// Two units in three inputs, none at the edge.
Rows two_units(Index n, std::uint64_t seed) {
  Rows out;
  Matrix W(2, 3);
  W << 0.6, 0.8, 0.0, -0.5, 0.5, 0.7071;
  out.network = Network(W, Vector::Constant(2, 0.2), (Matrix(1, 2) << 1.0, -1.3).finished(), Vector::Ones(1));
  out.x.resize(n, 3);
  out.e.resize(n, 1);
  Stream(seed, "test inputs").fill_normal(0, out.x);
  Stream(seed, "test noise").fill_normal(0, out.e);
  out.y = evaluate(out.network, out.x);
  return out;
}

Result found(const RowMatrix& x, const RowMatrix& y) {
  RecoverOptions options;
  options.budget_seconds = 20;
  return recover(memory_samples(x, y), options);
}

const Effect& effect(const Result& result, const std::string& kind, Index unit, Index input) {
  for (const Effect& e : result.errors.effects)
    if (e.kind == kind && e.unit == unit && e.input == input && e.output <= 0) return e;
  static const Effect none;
  ADD_FAILURE() << "no effect " << kind << " of unit " << unit << ", input " << input;
  return none;
}

TEST(HonestIntervals, NoiseThatWandersIsTold) {
  for (const double memory : {0.5, 0.95, 0.999}) {
    Rows rows = two_units(3000, 11);
    double state = 0;
    for (Index i = 0; i < rows.y.rows(); ++i) {
      state = memory * state + std::sqrt(1 - memory * memory) * rows.e(i, 0);
      rows.y(i, 0) += 0.1 * state;
    }
    const Result result = found(rows.x, rows.y);
    EXPECT_EQ(result.certificate.status, Status::kUncertified) << memory;
    EXPECT_NE(result.certificate.reason.find("order of the rows"), std::string::npos)
        << memory << ": " << result.certificate.reason;
    EXPECT_FALSE(result.errors.no_intervals.empty());
    EXPECT_TRUE(result.errors.effects.empty());
  }
}

TEST(HonestIntervals, AJumpIsTold) {
  Rows rows = two_units(6000, 12);
  for (Index i = 0; i < rows.y.rows(); ++i)
    rows.y(i, 0) += 0.2 * rows.e(i, 0) + (rows.x(i, 2) > 0.4 ? 0.2 : 0.0);
  const Result result = found(rows.x, rows.y);
  EXPECT_NE(result.certificate.status, Status::kEstimated);
  EXPECT_TRUE(result.errors.effects.empty());
}

TEST(HonestIntervals, TheyFollowTheUnitsOfTheColumns) {
  Rows rows = two_units(4000, 13);
  rows.y += 0.2 * rows.e;
  const Result one = found(rows.x, rows.y);
  ASSERT_EQ(one.certificate.status, Status::kEstimated) << one.certificate.reason;
  ASSERT_TRUE(one.errors.no_intervals.empty()) << one.errors.no_intervals;
  RowMatrix tonnes = rows.x;
  tonnes.col(1) /= 2204.6;
  const Result other = found(tonnes, rows.y);
  ASSERT_EQ(other.certificate.status, Status::kEstimated) << other.certificate.reason;
  for (const Effect& e : one.errors.effects) {
    // Canonical order is by the norm of output weights, which changes with the units.
    bool matched = false;
    for (Index unit = e.unit < 0 ? -1 : 0; unit < (e.unit < 0 ? 0 : 2) && !matched; ++unit) {
      const Effect& same = effect(other, e.kind, unit, e.input);
      const double factor = e.input != 1 ? 1 : e.kind == "hinge" ? 1 / 2204.6 : 2204.6;
      const auto near = [&](double a, double b) {
        return (std::isinf(a) && a == b) ||
               std::abs(a * factor - b) <= 1e-4 * (std::abs(b) + factor * e.error);
      };
      matched = near(e.value, same.value) && near(e.lower, same.lower) && near(e.upper, same.upper) &&
                std::abs(e.error * factor - same.error) <= 1e-3 * same.error;
    }
    EXPECT_TRUE(matched) << e.kind << " of unit " << e.unit << ", input " << e.input;
  }
}

TEST(HonestIntervals, NoUnitIsLinearRegression) {
  constexpr double kSlopes[] = {2.0, -1.0, 0.0};
  Rows rows = two_units(400, 14);
  rows.y = 0.5 * rows.e;
  for (Index j = 0; j < 3; ++j) rows.y += kSlopes[j] * rows.x.col(j);
  const Result result = found(rows.x, rows.y);
  ASSERT_EQ(result.network.hidden(), 0) << result.certificate.reason;
  ASSERT_TRUE(result.errors.no_intervals.empty()) << result.errors.no_intervals;
  for (Index j = 0; j < 3; ++j) {
    const Effect& slope = effect(result, "slope", -1, j);
    EXPECT_NEAR(slope.value, kSlopes[j], 6 * slope.error);
    EXPECT_NEAR(slope.error, 0.5 / std::sqrt(400.0), 0.3 * 0.5 / std::sqrt(400.0));
    EXPECT_NEAR(result.errors.standard_errors.L()(0, j), slope.error, 1e-9);
  }
  EXPECT_NEAR(result.errors.reach, student_limit(0.05, result.errors.degrees_of_freedom), 1e-12);
}

TEST(HonestIntervals, ALinearTermHasErrorsToo) {
  Rows rows = two_units(4000, 15);
  rows.y += 0.1 * rows.e + 0.7 * rows.x.col(0) - 0.4 * rows.x.col(2);
  const Result result = found(rows.x, rows.y);
  ASSERT_GT(result.network.L().size(), 0) << result.certificate.reason;
  ASSERT_TRUE(result.errors.no_intervals.empty()) << result.errors.no_intervals;
  EXPECT_EQ(result.errors.standard_errors.L().cols(), 3);
  EXPECT_GT(result.errors.standard_errors.L().minCoeff(), 0);
}

// 0.975 quantiles of Student's t, from tables.
TEST(HonestIntervals, StudentsQuantiles) {
  EXPECT_NEAR(student_limit(0.05, 10), 2.2281, 1e-4);
  EXPECT_NEAR(student_limit(0.05, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_limit(0.05, 1e7), 1.95996, 1e-5);
}

}  // namespace
}  // namespace exhume::honest_intervals_test
