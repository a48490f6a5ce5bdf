#include "exhume/moments/moments.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exhume/base/error.h"
#include "exhume/model/network.h"
#include "exhume/data/planted.h"
#include "exhume/moments/polynomial_fit.h"
#include "exhume/base/random.h"
#include "exhume/linalg/symmetric_matrix.h"

namespace exhume {
namespace {

// Whole numbers small enough that every sum is exact, whatever its order.
RowMatrix integers(Index rows, Index cols, std::uint64_t seed) {
  RowMatrix out(rows, cols);
  Stream(seed, "integers").fill_uniform(0, out);
  return (out.array() * 7).floor().matrix().array() - 3;
}

double hermite(int p, const Vector& x, const std::vector<Index>& i) {
  const auto delta = [](Index a, Index b) { return a == b ? 1.0 : 0.0; };
  if (p == 2) return x(i[0]) * x(i[1]) - delta(i[0], i[1]);
  if (p == 3) {
    return x(i[0]) * x(i[1]) * x(i[2]) - x(i[0]) * delta(i[1], i[2]) - x(i[1]) * delta(i[0], i[2]) -
           x(i[2]) * delta(i[0], i[1]);
  }
  const Index a = i[0], b = i[1], c = i[2], d = i[3];
  return x(a) * x(b) * x(c) * x(d) -
         (x(a) * x(b) * delta(c, d) + x(a) * x(c) * delta(b, d) + x(a) * x(d) * delta(b, c) +
          x(b) * x(c) * delta(a, d) + x(b) * x(d) * delta(a, c) + x(c) * x(d) * delta(a, b)) +
         delta(a, b) * delta(c, d) + delta(a, c) * delta(b, d) + delta(a, d) * delta(b, c);
}

TEST(Moments, AreTheSameBitsForAnyNumberOfThreads) {
  const SamplePtr samples = memory_samples(Stream(1, "x").normal_matrix(3 * kBlockRows + 17, 6),
                                           Stream(1, "y").normal_matrix(3 * kBlockRows + 17, 2));
  Control one, many;
  one.threads = 1;
  many.threads = 5;
  EXPECT_EQ(hermite_moments(*samples, 4, one).serialise(), hermite_moments(*samples, 4, many).serialise());
  EXPECT_EQ(second_moments(*samples, one).serialise(), second_moments(*samples, many).serialise());
}

TEST(Moments, SumsOfIntegersAreExactWhateverTheSplit) {
  for (const Index rows : {Index{0}, Index{1}, Index{2}, Index{5}, kBlockRows - 1, kBlockRows + 1}) {
    const RowMatrix x = integers(rows, 3, 2), y = integers(rows, 2, 3);
    const HermiteMoments whole = hermite_moments(*memory_samples(x, y), 4, {});
    HermiteMoments parts(3, 2, 4);
    for (Index first = 0; first < rows; first += 3) {
      HermiteMoments part(3, 2, 4);
      const Index size = std::min<Index>(3, rows - first);
      part.add(first, x.middleRows(first, size), y.middleRows(first, size));
      parts.merge(part);
    }
    for (int h = 0; h < 2; ++h) {
      EXPECT_EQ(whole.count[h], parts.count[h]);
      EXPECT_TRUE(whole.sums[h].order0 == parts.sums[h].order0) << rows;
      EXPECT_TRUE(whole.sums[h].order1 == parts.sums[h].order1) << rows;
      EXPECT_LT((whole.sums[h].order4 - parts.sums[h].order4).norm(),
                1e-9 * (1 + whole.sums[h].order4.norm()))
          << rows;
    }
  }
}

TEST(Moments, AgreeWithNaiveLoops) {
  constexpr Index kRows = 41, kInputs = 4, kOutputs = 2;
  constexpr double kTolerance = 200 * 2.3e-16;  // 41 terms of size up to a few hundred, relative to their sum
  const RowMatrix x = Stream(4, "x").normal_matrix(kRows, kInputs),
                  y = Stream(4, "y").normal_matrix(kRows, kOutputs);
  const HermiteMoments moments = hermite_moments(*memory_samples(x, y), 4, {});
  for (int h = 0; h < 2; ++h) {
    for (int p = 2; p <= 4; ++p) {
      const Matrix found = moments.half(p, h);
      for (Index o = 0; o < kOutputs; ++o) {
        for (Index b = 0; b < kInputs; ++b) {
          for (Index a = 0; a <= b; ++a) {
            const double left = a == b ? 1 : std::sqrt(2.0);
            for (Index d = 0; d < kInputs; ++d) {
              for (Index c = 0; c <= d; ++c) {
                std::vector<Index> at = {a, b};
                double scale = left, value = 0, size = 0;
                if (p >= 3) at.push_back(d);
                if (p == 4) at = {a, b, c, d}, scale *= c == d ? 1 : std::sqrt(2.0);
                double count = 0;
                for (Index i = h; i < kRows; i += 2) {
                  const double term = y(i, o) * hermite(p, x.row(i).transpose(), at);
                  value += term;
                  size += std::abs(term);
                  ++count;
                }
                Index column = o;
                if (p == 3) column = o * kInputs + d;
                if (p == 4) column = o * symmetric_size(kInputs) + symmetric_position(c, d);
                EXPECT_NEAR(found(symmetric_position(a, b), column), scale * value / count,
                            kTolerance * (1 + scale * size))
                    << p;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Moments, EstimateAgreesWithThePopulationWithinItsOwnNoise) {
  // Order 2 of a planted network against Lemma 3.5, residualised on degree 1; error measured by D.
  const Network network = plant({.inputs = 6, .hidden = 4, .outputs = 2, .seed = 11});
  const SamplePtr samples = planted_samples(network, {.samples = 200000, .seed = 12});
  const auto fit = std::make_shared<PolynomialFit>(fit_polynomial(*samples, 1, {}));
  const SamplePtr left = with_outputs(samples, [fit](const auto& x, RowMatrix& y) { y -= fit->evaluate(x); });
  const HermiteMoments moments = hermite_moments(*left, 2, {});
  Matrix expected = Matrix::Zero(symmetric_size(6), 2);
  for (Index i = 0; i < 4; ++i) {
    const double density = std::exp(-network.b(i) * network.b(i) / 2) / std::sqrt(2 * M_PI);
    expected += rank_one_coordinates(network.W.row(i).transpose()) * (density * network.A.col(i).transpose());
  }
  const double noise = moments.noise(2).norm();
  EXPECT_LT((moments.estimate(2) - expected).norm(), 2.5 * noise);
  EXPECT_LT(noise, 0.05 * expected.norm());
}

TEST(Moments, SurviveSerialisation) {
  const SamplePtr samples =
      memory_samples(Stream(5, "x").normal_matrix(100, 3), Stream(5, "y").normal_matrix(100, 2));
  const HermiteMoments moments = hermite_moments(*samples, 3, {});
  EXPECT_EQ(HermiteMoments::deserialise(moments.serialise()).serialise(), moments.serialise());
  const SecondMoments second = second_moments(*samples, {});
  EXPECT_EQ(SecondMoments::deserialise(second.serialise()).serialise(), second.serialise());
  std::string cut = moments.serialise();
  for (size_t size = 0; size < cut.size(); size += 37) {
    EXPECT_THROW((void)HermiteMoments::deserialise(cut.substr(0, size)), DataError) << size;
  }
  EXPECT_THROW((void)SecondMoments::deserialise(moments.serialise()), DataError);
}

TEST(Moments, SecondMomentsAreStableFarFromZero) {
  RowMatrix x = Stream(6, "x").normal_matrix(9000, 2);
  const SecondMoments near = second_moments(*memory_samples(x, RowMatrix(x.col(0))), {});
  x.array() += 1e8;
  const SecondMoments far = second_moments(*memory_samples(x, RowMatrix(x.col(0))), {});
  EXPECT_LT((near.covariance_x() - far.covariance_x()).norm(), 1e-7);
}

TEST(PolynomialFit, ReproducesACubic) {
  const RowMatrix x = Stream(7, "x").normal_matrix(4000, 3);
  RowMatrix y(4000, 1);
  for (Index i = 0; i < 4000; ++i)
    y(i, 0) = 1 + x(i, 0) - 2 * x(i, 1) * x(i, 2) + x(i, 0) * x(i, 0) * x(i, 1) + x(i, 2) * x(i, 2) * x(i, 2);
  const PolynomialFit fit = fit_polynomial(*memory_samples(x, y), 3, {}, 60);
  EXPECT_LT((fit.evaluate(x) - y).norm(), 1e-4 * y.norm());
}

TEST(PolynomialFit, LeavesAResidualOrthogonalToLowerDegrees) {
  const RowMatrix x = Stream(8, "x").normal_matrix(3000, 4);
  const RowMatrix y = x.cwiseAbs().rowwise().sum();
  const PolynomialFit fit = fit_polynomial(*memory_samples(x, y), 2, {}, 60);
  const HermiteMoments left = hermite_moments(*memory_samples(x, y - fit.evaluate(x)), 2, {});
  const HermiteMoments all = hermite_moments(*memory_samples(x, y), 2, {});
  EXPECT_LT(left.estimate(2).norm(), 1e-3 * all.estimate(2).norm());
}

}  // namespace
}  // namespace exhume
