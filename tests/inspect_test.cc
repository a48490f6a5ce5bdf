// The looks at the data before a fit: each statistic by plain loops, on data made for it and against it.
#include "certify/inspect.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <vector>

#include "base/limits.h"
#include "base/parallel.h"
#include "base/random.h"
#include "data/input_distribution.h"

namespace exhume::inspect_test {
namespace {

constexpr Index kLooked = 4096;  // rows that inspect() looks at, at most
constexpr const char* kSkewness = "Gaussian inputs: skewness";
constexpr const char* kKurtosis = "Gaussian inputs: kurtosis";
constexpr const char* kSymmetric = "symmetric inputs: third moments";
constexpr const char* kContinuous = "continuous inputs: distinct values of an input";
constexpr const char* kTails = "light-tailed inputs: largest kurtosis";
constexpr const char* kDistinct = "distinct rows: share of repetitions";
constexpr const char* kWhole = "outputs that are not whole numbers: share of whole ones";

Assumption named(const Inspection& inspection, const char* name) {
  for (const Assumption& test : inspection.tests) {
    if (test.name == name) return test;
  }
  ADD_FAILURE() << "no test is called " << name;
  return {};
}

RowMatrix drawn(Distribution distribution, Index rows, Index inputs, std::uint64_t seed) {
  RowMatrix x(rows, inputs);
  InputDistribution(distribution, inputs, 0, nullptr, seed, "inspect").fill(0, x);
  return x;
}

RowMatrix normals(Index rows, Index columns, std::uint64_t seed) {
  RowMatrix out(rows, columns);
  Stream(seed, "inspect normals").fill_normal(0, out);
  return out;
}

RowMatrix uniforms(Index rows, Index columns, std::uint64_t seed) {
  RowMatrix out(rows, columns);
  Stream(seed, "inspect uniforms").fill_uniform(0, out);
  return out;
}

// Looks at inputs; the outputs are of no interest.
Inspection of_inputs(const RowMatrix& x) { return inspect(*memory_samples(x, normals(x.rows(), 1, 99))); }

// P(chi-squared with `freedom` degrees > value), for an even number of degrees.
double chi_squared_tail(int freedom, double value) {
  double term = 1, sum = 1;
  for (int k = 1; k < freedom / 2; ++k) sum += term *= value / 2 / k;
  return std::exp(-value / 2) * sum;
}

struct Mardia {
  double skewness, kurtosis;
};

// By the definition: (x_i - mean)^T S^-1 (x_j - mean), S the covariance with 1 / n.
Mardia mardia(const RowMatrix& x) {
  const Index n = x.rows(), d = x.cols();
  const Matrix centred = x.rowwise() - x.colwise().mean();
  const Matrix S = centred.transpose() * centred / static_cast<double>(n);
  const Matrix half = S.colPivHouseholderQr().solve(centred.transpose());
  double cubes = 0, squares = 0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) cubes += std::pow(centred.row(i).dot(half.col(j)), 3);
    squares += std::pow(centred.row(i).dot(half.col(i)), 2);
  }
  // Mean and variance of the kurtosis of n Gaussian rows that are whitened by themselves (Mardia, 1970).
  const double rows = static_cast<double>(n), dd = static_cast<double>(d * (d + 2));
  const double mean = dd * (rows - 1) / (rows + 1);
  const double variance = 8 * dd * (rows - 3) * static_cast<double>((n - d - 1) * (n - d + 1)) /
                          (std::pow(rows + 1, 2) * (rows + 3) * (rows + 5));
  return {cubes / rows / 6, (squares / rows - mean) / std::sqrt(variance)};
}

// Whitening by the same rows takes kurtosis away, and with 784 inputs far more than chance does.
TEST(Inspect, ManyGaussianInputsAreGaussian) {
  const Inspection inspection = of_inputs(normals(10000, 400, 31));
  EXPECT_TRUE(inspection.gaussian) << named(inspection, kKurtosis).value;
  EXPECT_LT(named(inspection, kKurtosis).value, 1);
}

TEST(Inspect, ReportsEveryTestOnceInAFixedOrder) {
  const Inspection inspection = of_inputs(normals(50, 2, 1));
  const char* expected[] = {kSkewness, kKurtosis, kSymmetric, kContinuous, kTails, kDistinct, kWhole};
  ASSERT_EQ(inspection.tests.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(inspection.tests[i].name, expected[i]);
  for (const Assumption& test : inspection.tests) EXPECT_FALSE(test.required) << test.name;
}

TEST(Inspect, GaussianInputsPassEverything) {
  // Thresholds have a probability of 1e-6 for each of three statistics, so 12 looks fail with less than 4e-5.
  // The kurtosis of an input is 3 with a standard error of sqrt(24 / 4096) = 0.08: 20 is out of reach.
  for (const std::uint64_t seed : {2, 3, 4, 5}) {
    for (const Index d : {1, 3, 8}) {
      const Matrix mix = Stream(seed, "mix").normal_matrix(d, d) + 3 * Matrix::Identity(d, d);
      const RowMatrix x = (normals(6000, d, seed) * mix).array() + 5;
      const Inspection inspection = of_inputs(x);
      for (const Assumption& test : inspection.tests) {
        EXPECT_TRUE(test.holds) << test.name << ": " << test.value << ", seed " << seed << ", inputs " << d;
      }
      EXPECT_TRUE(inspection.gaussian && inspection.symmetric);
      EXPECT_FALSE(inspection.discrete || inspection.integer_outputs || inspection.repeated_rows);
    }
  }
}

TEST(Inspect, MardiasStatisticsAreThoseOfTheDefinition) {
  // 200 rows: all of them are looked at. Relative rounding of sums of 40,000 cubes, times the condition of
  // the covariance, which is below 1e3 here.
  constexpr double kTolerance = 1e-9;
  for (const Index d : {2, 3, 4}) {
    const RowMatrix x =
        normals(200, d, 6) * (Stream(6, "mix").normal_matrix(d, d) + 3 * Matrix::Identity(d, d));
    const Mardia expected = mardia(x);
    const Inspection inspection = of_inputs(x);
    const double kurtosis_limit = normal_limit(kInspectionFalseAlarm, 2);
    EXPECT_NEAR(named(inspection, kKurtosis).value, std::abs(expected.kurtosis) / kurtosis_limit, kTolerance)
        << d;
    // 2 P(Z > t) <= exp(-t^2 / 2) for the two sides.
    EXPECT_LE(std::erfc(kurtosis_limit / std::sqrt(2.0)), 1e-6);
    const double limit = expected.skewness / named(inspection, kSkewness).value;
    const int freedom = static_cast<int>(d * (d + 1) * (d + 2) / 6);
    const double tail = chi_squared_tail(freedom, limit / 1.1);
    // Wilson and Hilferty's quantile errs to the safe side for few degrees: 4.3e-7 for four of them.
    EXPECT_LE(tail, 1.1e-6) << d << " inputs, limit " << limit;
    EXPECT_GE(tail, 2.5e-7) << d << " inputs, limit " << limit;
  }
}

TEST(Inspect, SkewInputsAreNotGaussian) {
  // Exponential coordinates have a sample skewness of 2 with a standard error of about 0.6 over 1,000 rows.
  // Twice the threshold of 72 is missed only where the sum of their four squares is below 0.87, so where all
  // four are 2.6 standard errors too small: less than 1e-8.
  const Inspection inspection = of_inputs(drawn(Distribution::kExponential, 5000, 4, 7));
  EXPECT_FALSE(named(inspection, kSkewness).holds);
  EXPECT_GT(named(inspection, kSkewness).value, 2);
  EXPECT_FALSE(inspection.gaussian);
}

TEST(Inspect, LightTailsAreNotGaussian) {
  // Uniform coordinates: mean |z|^4 is 1.2 d below the Gaussian one, 1.2 d / sqrt(8 d (d+2) / 4096) = 21
  // standard errors for d = 3 against a threshold of 5.4. Symmetric, so the other tests hold.
  const Inspection inspection = of_inputs(drawn(Distribution::kCube, 5000, 3, 8));
  EXPECT_FALSE(named(inspection, kKurtosis).holds);
  EXPECT_TRUE(named(inspection, kSkewness).holds);
  EXPECT_TRUE(named(inspection, kSymmetric).holds);
  EXPECT_FALSE(inspection.gaussian);
  EXPECT_TRUE(inspection.symmetric);
}

// Two pieces, [0, 1] with probability 9/10 and [3, 4] otherwise: mean 0.8, third moment about it 1.94, sixth
// 45.6.
RowMatrix lopsided(Index rows, std::uint64_t seed) {
  const RowMatrix u = uniforms(rows, 2, seed);
  RowMatrix x(rows, 1);
  for (Index i = 0; i < rows; ++i) x(i, 0) = u(i, 0) + (u(i, 1) < 0.1 ? 3 : 0);
  return x;
}

TEST(Inspect, SymmetryIsTheTStatisticOfThirdMoments) {
  RowMatrix x = normals(301, 3, 9);
  x.col(2) = lopsided(301, 9);
  double largest = 0;
  for (Index a = 0; a < 3; ++a) {
    double mean = 0, cubes = 0, squares = 0;
    for (Index i = 0; i < 301; ++i) mean += x(i, a) / 301;
    for (Index i = 0; i < 301; ++i) {
      const double cube = std::pow(x(i, a) - mean, 3);
      cubes += cube;
      squares += cube * cube;
    }
    largest = std::max(largest, std::abs(cubes) / std::sqrt(squares));  // (cubes / n) / sqrt(squares / n^2)
  }
  const double limit = normal_limit(kInspectionFalseAlarm, 3);
  EXPECT_NEAR(named(of_inputs(x), kSymmetric).value, largest / limit, 1e-12);
}

TEST(Inspect, OneLopsidedInputIsNotSymmetric) {
  // t is near 1.94 / sqrt(45.6) * sqrt(4096) = 18.4. It goes with the root of the number of large values, 410
  // +- 19, so its standard error is about 0.5, against a limit of 10.9.
  RowMatrix x = drawn(Distribution::kCube, 5000, 3, 10);
  EXPECT_TRUE(of_inputs(x).symmetric);
  x.col(1) = lopsided(5000, 10);
  const Inspection inspection = of_inputs(x);
  EXPECT_FALSE(named(inspection, kSymmetric).holds);
  EXPECT_FALSE(inspection.symmetric);
  EXPECT_TRUE(named(inspection, kTails).holds);
}

// It was once so: the limit of 2 * 5.4 standard errors is above what exponential inputs reach on 4,096
// rows, 2 / sqrt(265) * 64 = 7.9. A sum of symmetric terms over the root of its squares is sub-Gaussian
// (Efron), so the factor of two buys nothing.
TEST(Inspect, ExponentialInputsAreNotSymmetric) {
  EXPECT_FALSE(of_inputs(drawn(Distribution::kExponential, 100000, 3, 11)).symmetric);
}

TEST(Inspect, AHandfulOfValuesIsDiscrete) {
  // Sixteen values are a handful, seventeen are not; of 32 rows or fewer nothing is said.
  const auto with_values = [](Index values, Index rows) {
    RowMatrix x = normals(rows, 2, 12);
    for (Index i = 0; i < rows; ++i) x(i, 1) = static_cast<double>(i % values) / 3;
    return x;
  };
  for (const Index values : {2, 16}) {
    const Inspection inspection = of_inputs(with_values(values, 500));
    EXPECT_TRUE(inspection.discrete) << values;
    EXPECT_FALSE(named(inspection, kContinuous).holds) << values;
    EXPECT_EQ(named(inspection, kContinuous).value, static_cast<double>(values));
    EXPECT_EQ(named(inspection, kContinuous).threshold, 16);
  }
  EXPECT_FALSE(of_inputs(with_values(17, 500)).discrete);
  EXPECT_FALSE(of_inputs(with_values(2, 32)).discrete);
  EXPECT_TRUE(of_inputs(with_values(2, 33)).discrete);
}

TEST(Inspect, TailsAreTheLargestKurtosisOfAnInput) {
  // A column with a share q of ones has kurtosis 1 / (q (1 - q)) - 3: 14.07 for 1/16, 62.02 for 1/64.
  for (const Index one_in : {16, 64}) {
    RowMatrix x = normals(kLooked, 2, 13);
    for (Index i = 0; i < kLooked; ++i) x(i, 0) = i % one_in == 0 ? 1 : 0;
    const double q = 1 / static_cast<double>(one_in), expected = 1 / (q * (1 - q)) - 3;
    const Assumption tails = named(of_inputs(x), kTails);
    EXPECT_NEAR(tails.value, expected, 1e-10 * expected);
    EXPECT_EQ(tails.threshold, 20);
    EXPECT_EQ(tails.holds, one_in == 16);
  }
}

TEST(Inspect, RepetitionsAreWholeRows) {
  RowMatrix x = normals(100, 2, 14), y = normals(100, 1, 15);
  x.row(60) = x.row(10);
  Inspection inspection = inspect(*memory_samples(x, y));
  EXPECT_FALSE(inspection.repeated_rows) << "the same inputs with another output are no repetition";
  EXPECT_EQ(named(inspection, kDistinct).value, 0);
  y.row(60) = y.row(10);
  x.row(61) = x.row(10);
  y.row(61) = y.row(10);
  inspection = inspect(*memory_samples(x, y));
  EXPECT_TRUE(inspection.repeated_rows);
  EXPECT_FALSE(named(inspection, kDistinct).holds);
  EXPECT_EQ(named(inspection, kDistinct).value, 0.02);
}

TEST(Inspect, OneBrokenOutputIsNotWhole) {
  const RowMatrix x = normals(100, 2, 16);
  RowMatrix y = (normals(100, 2, 17) * 5).array().round();
  Inspection inspection = inspect(*memory_samples(x, y));
  EXPECT_TRUE(inspection.integer_outputs);
  EXPECT_FALSE(named(inspection, kWhole).holds);
  y(99, 1) += 1e-9;
  inspection = inspect(*memory_samples(x, y));
  EXPECT_FALSE(inspection.integer_outputs);
  EXPECT_TRUE(named(inspection, kWhole).holds);
  EXPECT_EQ(named(inspection, kWhole).value, 199.0 / 200);
}

TEST(Inspect, LooksAtRowsFromEndToEnd) {
  // A last row in 20,000 that is an outlier is seen by the test of tails: kurtosis of one value of 1e6 among
  // n rows is near n.
  RowMatrix x = normals(20000, 1, 18);
  x(19999, 0) = 1e6;
  EXPECT_GT(named(of_inputs(x), kTails).value, 4000);
  EXPECT_LT(named(of_inputs(x), kTails).value, 4096);
}

TEST(Inspect, AConstantInputIsLeftOutOfTheOthersStatistics) {
  // 0.5 n is exact, so the mean of the constant column is itself.
  const RowMatrix x = normals(3001, 2, 19);
  RowMatrix with(3001, 3);
  with << x, RowMatrix::Constant(3001, 1, 0.5);
  const Inspection without_it = of_inputs(x), inspection = of_inputs(with);
  EXPECT_TRUE(inspection.discrete);
  EXPECT_EQ(named(inspection, kContinuous).value, 1);
  EXPECT_NEAR(named(inspection, kSkewness).value, named(without_it, kSkewness).value, 1e-9);
  EXPECT_NEAR(named(inspection, kKurtosis).value, named(without_it, kKurtosis).value, 1e-9);
  EXPECT_NEAR(named(inspection, kTails).value, named(without_it, kTails).value, 1e-9);
  EXPECT_TRUE(inspection.gaussian && inspection.symmetric);
}

// It was once so: where the mean of a constant column is rounded, what is left is the same tiny number
// in every row; scaled to variance one it is neither Gaussian nor symmetric, and t = sqrt(n).
TEST(Inspect, AConstantInputWhoseMeanIsRoundedIsLeftOutToo) {
  for (const Index rows : {3001, 3003, 3005, 3007}) {
    RowMatrix x(rows, 3);
    x << normals(rows, 2, 19), RowMatrix::Constant(rows, 1, 0.1);
    const Inspection inspection = of_inputs(x);
    EXPECT_TRUE(inspection.gaussian) << rows << ": " << named(inspection, kSkewness).value;
    EXPECT_TRUE(inspection.symmetric) << rows << ": " << named(inspection, kSymmetric).value;
  }
}

TEST(Inspect, TwoAndThreeRowsGiveFiniteStatistics) {
  for (const Index rows : {2, 3, 5}) {
    for (const Index d : {1, 4}) {
      const Inspection inspection = of_inputs(normals(rows, d, 20));
      for (const Assumption& test : inspection.tests) {
        EXPECT_TRUE(std::isfinite(test.value)) << test.name << ", " << rows << " rows, " << d << " inputs";
        EXPECT_TRUE(test.holds) << test.name << ": " << rows << " rows can show nothing";
      }
    }
  }
}

// It was once so: no direction has variance, so 0 / 0 is compared; the values are not numbers and the
// inputs not Gaussian.
TEST(Inspect, OneRowOrConstantInputsGiveFiniteStatistics) {
  for (const RowMatrix& x : {RowMatrix(normals(1, 2, 21)), RowMatrix(RowMatrix::Constant(100, 2, 0.5))}) {
    for (const Assumption& test : of_inputs(x).tests) EXPECT_TRUE(std::isfinite(test.value)) << test.name;
  }
}

std::vector<double> first_column(const SampleSource& samples) {
  SampleBlock block;
  samples.read(0, samples.rows(), block);
  std::vector<double> out;
  for (Index i = 0; i < block.rows(); ++i) out.push_back(block.x()(i, 0));
  return out;
}

TEST(DistinctRows, KeepsTheFirstOfEveryRowInOrder) {
  const Index rows = 2 * kBlockRows + 5, period = 1000;
  RowMatrix x(rows, 2), y(rows, 1);
  for (Index i = 0; i < rows; ++i) {
    x.row(i) << static_cast<double>(i % period), 7;
    y(i, 0) = i == rows - 1 ? -1 : static_cast<double>(i % period);  // the last: known inputs, a new output
  }
  for (const int threads : {1, 3}) {
    Control control;
    control.threads = threads;
    const SamplePtr found = distinct_rows(memory_samples(x, y), control);
    ASSERT_EQ(found->rows(), period + 1);
    EXPECT_EQ(found->inputs(), 2);
    EXPECT_EQ(found->outputs(), 1);
    std::vector<double> expected;
    for (Index i = 0; i < period; ++i) expected.push_back(static_cast<double>(i));
    expected.push_back(static_cast<double>((rows - 1) % period));
    EXPECT_EQ(first_column(*found), expected);
    SampleBlock part;
    found->read(period - 1, 2, part);
    EXPECT_EQ(part.y()(0, 0), static_cast<double>(period - 1));
    EXPECT_EQ(part.y()(1, 0), -1);
    EXPECT_EQ(part.first_row(), period - 1);
  }
}

TEST(DistinctRows, ReturnsTheSamplesWhereNothingIsRepeated) {
  for (const Index rows : {0, 1, 2, 77}) {
    const SamplePtr samples = memory_samples(normals(rows, 2, 22), normals(rows, 1, 23));
    EXPECT_EQ(distinct_rows(samples, {}), samples) << rows;
  }
}

TEST(DistinctRows, OfOneRowManyTimesOneIsLeft) {
  const SamplePtr found =
      distinct_rows(memory_samples(RowMatrix::Constant(5000, 3, 0.1), RowMatrix::Constant(5000, 2, 0.2)), {});
  ASSERT_EQ(found->rows(), 1);
  EXPECT_EQ(first_column(*found), std::vector<double>{0.1});
}

// It was once so: rows are compared by their bytes.
TEST(DistinctRows, MinusZeroIsZero) {
  RowMatrix x(2, 1);
  x << 0.0, -0.0;
  EXPECT_EQ(distinct_rows(memory_samples(x, RowMatrix::Ones(2, 1)), {})->rows(), 1);
}

}  // namespace
}  // namespace exhume::inspect_test
