// Fits to rounded outputs: rows on which the network is constant, and bounds of every entry.
#include "fit/within_bounds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fit/polish.h"
#include "planted_data.h"

namespace exhume::within_bounds_test {
namespace {

constexpr double kUnit = 1e-4;

struct Rounded {
  Form truth, least_squares;
  SamplePtr samples;
};

// Four decimals: where no unit is active all rows have the same rounding error.
Rounded rounded(Index d, Index k, Index m, Index n, std::uint64_t seed) {
  PlantedData data = planted_data(d, k, m, n, seed);
  data.network.b().array() -= 1;
  data.network.c().setConstant(0.4 * kUnit);
  Rounded out;
  out.truth = to_signed_form(data.network);
  const RowMatrix y =
      evaluate(out.truth, data.x).unaryExpr([](double v) { return std::round(v / kUnit) * kUnit; });
  out.samples = memory_samples(data.x, y);
  PolishOptions options;
  options.max_iterations = 10;
  out.least_squares = polish(out.truth, *out.samples, options, {}).form;
  return out;
}

double largest_gap(const Form& model, const SampleSource& samples) {
  const SampleBlock block = read(samples, 0, samples.rows());
  return (evaluate(model, block.x()) - block.y()).cwiseAbs().maxCoeff();
}

double distance(const Form& a, const Form& b, const SampleSource& samples) {
  const SampleBlock block = read(samples, 0, samples.rows());
  return std::sqrt((evaluate(a, block.x()) - evaluate(b, block.x())).array().square().mean());
}

const HalfWidth kHalf = [](double, Index) { return kUnit / 2; };

TEST(WithinBounds, ConstantRowsAreBelievedOnce) {
  for (const std::uint64_t seed : {71, 72, 73, 74}) {
    const Rounded data = rounded(4, 3, 3, 4000, seed);
    const Form fit = fit_rounded(data.least_squares, data.samples, kHalf, 5, {});
    EXPECT_LT(distance(fit, data.truth, *data.samples),
              0.6 * distance(data.least_squares, data.truth, *data.samples))
        << seed;
  }
}

TEST(WithinBounds, CuttingPlanesKeepAllBounds) {
  for (const std::uint64_t seed : {75, 76}) {
    const Rounded data = rounded(4, 3, 2, 3000, seed);
    EXPECT_GT(largest_gap(data.least_squares, *data.samples), kUnit / 2) << seed;
    const Form fit = within_bounds(data.least_squares, data.samples, kHalf, 40, {});
    EXPECT_LE(largest_gap(fit, *data.samples), kUnit / 2) << seed;
  }
}

TEST(WithinBounds, ProjectionsComeCloserWhereUnknownsAreMany) {
  const Rounded data = rounded(20, 20, 2, 3000, 77);
  const Form fit = within_bounds(data.least_squares, data.samples, kHalf, 40, {});
  EXPECT_LT(largest_gap(fit, *data.samples), largest_gap(data.least_squares, *data.samples));
}

TEST(WithinBounds, SameBitsOnAnyNumberOfThreads) {
  const Rounded data = rounded(4, 3, 2, 9000, 78);
  Control one, two;
  one.threads = 1;
  two.threads = 2;
  const Form a = within_bounds(data.least_squares, data.samples, kHalf, 6, one);
  const Form b = within_bounds(data.least_squares, data.samples, kHalf, 6, two);
  EXPECT_EQ(a.V, b.V);
  EXPECT_EQ(a.C, b.C);
}

}  // namespace
}  // namespace exhume::within_bounds_test
