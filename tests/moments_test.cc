#include "moments/moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "base/parallel.h"
#include "base/random.h"
#include "data/planted.h"
#include "exhume/error.h"
#include "exhume/network.h"
#include "linalg/symmetric_matrix.h"
#include "moments/polynomial_fit.h"

namespace exhume::moments_test {
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

// sum over rows i of half h of r_io x_ia x_ib x_ic x_id for the inputs listed in `at`, in whole numbers.
std::int64_t integer_sum(const RowMatrix& x, const RowMatrix& r, int h, Index o,
                         const std::vector<Index>& at) {
  std::int64_t sum = 0;
  for (Index i = h; i < x.rows(); i += 2) {
    auto term = static_cast<std::int64_t>(r(i, o));
    for (const Index a : at) term *= static_cast<std::int64_t>(x(i, a));
    sum += term;
  }
  return sum;
}

double real(std::int64_t value) { return static_cast<double>(value); }

TEST(Moments, RawSumsOfIntegersAreExactInEveryOrder) {
  // Entries of at most 3 in size and at most 8,193 rows: every sum is below 3^5 * 8,193 < 2^21. Coordinates
  // with a == b are whole numbers and must be equal. The others carry a root of two: one rounding of the
  // factor, one of each feature and one of each sum of n terms, relative to the sum of sizes.
  constexpr double kRounding = 2.3e-16;
  const double root = std::sqrt(2.0);
  for (const auto& sizes : {std::pair<Index, Index>{1, 1}, {2, 1}, {3, 2}, {5, 3}}) {
    const Index d = sizes.first, m = sizes.second;
    for (const Index rows : {Index{0}, Index{1}, Index{2}, Index{257}, kBlockRows + 1, 2 * kBlockRows + 1}) {
      if (d == 5 && rows > 300) continue;  // the loops take long and say no more
      const RowMatrix x = integers(rows, d, 20), r = integers(rows, m, 21);
      const HermiteMoments moments = hermite_moments(*memory_samples(x, r), 4, {});
      const Index p = symmetric_size(d);
      const double tolerance = 4 * kRounding * static_cast<double>(rows + 4) * 243 * real(rows);
      const auto expect = [&](double found, std::int64_t sum, int roots, const char* what) {
        if (roots == 0) {
          EXPECT_EQ(found, real(sum)) << what << ", " << rows << " rows, " << d << " inputs";
        } else {
          EXPECT_NEAR(found, std::pow(root, roots) * real(sum), tolerance)
              << what << ", " << rows << " rows, " << d << " inputs";
        }
      };
      for (int h = 0; h < 2; ++h) {
        const RawSums& sums = moments.sums[h];
        ASSERT_EQ(moments.count[h], (rows + 1 - h) / 2);
        ASSERT_EQ(sums.order2.rows(), p);
        ASSERT_EQ(sums.order3.cols(), d * m);
        ASSERT_EQ(sums.order4.cols(), p * m);
        for (Index o = 0; o < m; ++o) {
          expect(sums.order0(o), integer_sum(x, r, h, o, {}), 0, "order 0");
          for (Index b = 0; b < d; ++b) {
            expect(sums.order1(b, o), integer_sum(x, r, h, o, {b}), 0, "order 1");
            for (Index a = 0; a <= b; ++a) {
              const Index at = symmetric_position(a, b);
              const int roots = a == b ? 0 : 1;
              expect(sums.order2(at, o), integer_sum(x, r, h, o, {a, b}), roots, "order 2");
              for (Index c = b; c < d; ++c) {
                expect(sums.order3(at, o * d + c), integer_sum(x, r, h, o, {a, b, c}), roots, "order 3");
                for (Index e = c; e < d; ++e) {
                  expect(sums.order4(at, o * p + symmetric_position(d - 1 - e, d - 1 - c)),
                         integer_sum(x, r, h, o, {a, b, c, e}), roots + (e == c ? 0 : 1), "order 4");
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Moments, SumsOfIntegersAreExactWhateverTheSplit) {
  // Coordinates that are whole numbers must be equal; a root of two is rounded once a term and once a sum.
  constexpr double kRounding = 2.3e-16;
  const auto expect_same = [](const Matrix& a, const Matrix& b, Index rows, const std::vector<Index>& whole) {
    for (const Index row : whole) EXPECT_TRUE(a.row(row) == b.row(row)) << rows << " rows, row " << row;
    EXPECT_LE((a - b).cwiseAbs().maxCoeff(), 8 * kRounding * 243 * static_cast<double>(rows * (rows + 4)));
  };
  const std::vector<Index> squares = {symmetric_position(0, 0), symmetric_position(1, 1),
                                      symmetric_position(2, 2)};
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
      const RawSums &a = whole.sums[h], &b = parts.sums[h];
      EXPECT_EQ(whole.count[h], parts.count[h]);
      EXPECT_TRUE(a.order0 == b.order0) << rows;
      EXPECT_TRUE(a.order1 == b.order1) << rows;
      expect_same(a.order2, b.order2, rows, squares);
      expect_same(a.order3, b.order3, rows, squares);
      expect_same(a.order4, b.order4, rows, {});
      for (const Index i : squares) {
        for (const Index j : squares) {
          EXPECT_EQ(a.order4(i, j), b.order4(i, j));
          EXPECT_EQ(a.order4(i, 6 + j), b.order4(i, 6 + j));
        }
      }
    }
  }
}

TEST(Moments, SecondMomentsOfIntegersAreExact) {
  // A power of two of rows per block, so that means are exact; sums of squares of multiples of 1 / 8192 stay
  // below 2^53 in that unit squared.
  const Index rows = 2 * kBlockRows, d = 3, m = 2;
  const RowMatrix x = integers(rows, d, 22), y = integers(rows, m, 23);
  const SecondMoments found = second_moments(*memory_samples(x, y), {});
  ASSERT_EQ(found.count, rows);
  const auto entry = [&](Index i, Index a) {
    return static_cast<std::int64_t>(a < d ? x(i, a) : y(i, a - d));
  };
  for (Index a = 0; a < d + m; ++a) {
    std::int64_t sum_a = 0;
    for (Index i = 0; i < rows; ++i) sum_a += entry(i, a);
    EXPECT_EQ(found.mean(a), real(sum_a) / real(rows)) << a;
    for (Index b = 0; b < d + m; ++b) {
      std::int64_t sum_b = 0, products = 0;
      for (Index i = 0; i < rows; ++i) {
        sum_b += entry(i, b);
        products += entry(i, a) * entry(i, b);
      }
      // sum (u - mean u)(v - mean v) = (n sum u v - sum u sum v) / n, and n is a power of two.
      EXPECT_EQ(found.centred(a, b), real(rows * products - sum_a * sum_b) / real(rows)) << a << " " << b;
    }
  }
  EXPECT_EQ(found.covariance_x(), Matrix(found.centred.topLeftCorner(d, d) / real(rows)));
  EXPECT_EQ(found.covariance_yx(), Matrix(found.centred.bottomLeftCorner(m, d) / real(rows)));
  EXPECT_EQ(found.covariance_y(), Matrix(found.centred.bottomRightCorner(m, m) / real(rows)));
}

TEST(Moments, HermiteMomentsOfIntegersAreExact) {
  // 512 rows, 256 a half: scaling by the count is exact, so the corrected moments of every order are too,
  // where the coordinate carries no root of two.
  const Index rows = 512, d = 3, m = 2;
  const RowMatrix x = integers(rows, d, 24), r = integers(rows, m, 25);
  const HermiteMoments moments = hermite_moments(*memory_samples(x, r), 4, {});
  for (int h = 0; h < 2; ++h) {
    const Matrix second = moments.half(2, h), third = moments.half(3, h), fourth = moments.half(4, h);
    for (Index o = 0; o < m; ++o) {
      for (Index a = 0; a < d; ++a) {
        for (Index c = 0; c < d; ++c) {
          double two = 0, three = 0, four = 0;
          for (Index i = h; i < rows; i += 2) {
            const Vector xi = x.row(i).transpose();
            two += r(i, o) * hermite(2, xi, {a, a});
            three += r(i, o) * hermite(3, xi, {a, a, c});
            four += r(i, o) * hermite(4, xi, {a, a, c, c});
          }
          const Index at = symmetric_position(a, a);
          EXPECT_EQ(second(at, o), two / 256) << a;
          // In the order of its indices a sum of order 3 may carry a root of two after all: rounded there and
          // back.
          EXPECT_NEAR(third(at, o * d + c), three / 256, c < a ? 1e-13 : 0) << a << " " << c;
          EXPECT_EQ(fourth(at, o * symmetric_size(d) + symmetric_position(c, c)), four / 256)
              << a << " " << c;
        }
      }
    }
  }
  for (int p = 0; p <= 4; ++p) {
    EXPECT_EQ(moments.estimate(p), Matrix((moments.half(p, 0) + moments.half(p, 1)) / 2));
    EXPECT_EQ(moments.noise(p), Matrix((moments.half(p, 0) - moments.half(p, 1)) / 2));
  }
}

// It was once so: with a single row the odd half is empty, counts as zero, and the estimate is half the
// moment.
TEST(Moments, TheEstimateFromOneRowIsThatRow) {
  const RowMatrix x = RowMatrix::Constant(1, 1, 2), r = RowMatrix::Constant(1, 1, 3);
  EXPECT_EQ(hermite_moments(*memory_samples(x, r), 1, {}).estimate(1)(0, 0), 6);
}

// f_p of Lemma 3.5 at one entry, for inputs of unit variance: (-1)^p He_(p-2)(b) phi(b) for p = 2, 3, 4.
double hermite_coefficient(const Network& network, Index o, const std::vector<Index>& at) {
  double value = at.empty() ? network.c()(o) : 0;
  for (Index i = 0; i < network.hidden(); ++i) {
    const double b = network.b()(i), density = std::exp(-b * b / 2) / std::sqrt(2 * M_PI);
    const double distribution = std::erfc(-b / std::sqrt(2.0)) / 2;
    const double scalar[] = {b * distribution + density, distribution, density, -b * density,
                             (b * b - 1) * density};
    double product = network.A()(o, i) * scalar[at.size()];
    for (const Index a : at) product *= network.W()(i, a);
    value += product;
  }
  return value;
}

// All lists of p inputs out of d, with repetitions and in every order.
std::vector<std::vector<Index>> all_entries(Index d, int p) {
  std::vector<std::vector<Index>> lists = {{}};
  for (int place = 0; place < p; ++place) {
    std::vector<std::vector<Index>> longer;
    for (const std::vector<Index>& list : lists) {
      for (Index a = 0; a < d; ++a) {
        longer.push_back(list);
        longer.back().push_back(a);
      }
    }
    lists = longer;
  }
  return lists;
}

TEST(Moments, EveryOrderAgreesWithThePopulationWithinItsSamplingError) {
  // Lemma 3.5 for a planted network with biases. Order p is taken of what the network's own expansion of
  // degree p - 1 leaves, q = sum_j<p <f_j, He_j> / j!, which changes no expectation and most of the error. An
  // entry's error is a mean of n independent terms; its standard error comes from the terms, and kTail of
  // them are exceeded with probability 2e-9 each, by one of the 2 * 2 * 121 with less than 1e-6.
  constexpr double kTail = 6;
  constexpr Index kRows = 240000, kInputs = 3, kOutputs = 2;
  for (const std::uint64_t seed : {13, 14}) {
    const Network network =
        plant({.inputs = kInputs, .hidden = 3, .outputs = kOutputs, .bias = 0.8, .seed = seed});
    const RowMatrix x = Stream(seed, "x").normal_matrix(kRows, kInputs);
    RowMatrix r = evaluate(network, x);
    double factorial = 1;
    for (int p = 0; p <= 4; ++p) {
      factorial *= std::max(p, 1);
      const HermiteMoments moments = hermite_moments(*memory_samples(x, r), p, {});
      const Matrix found = moments.estimate(p);
      double errors = 0, sizes = 0;
      RowMatrix next = r;
      for (const std::vector<Index>& at : all_entries(kInputs, p)) {
        Vector he = Vector::Ones(kRows);
        for (Index i = 0; i < kRows && p > 0; ++i) {
          he(i) = p == 1 ? x(i, at[0]) : hermite(p, x.row(i).transpose(), at);
        }
        for (Index o = 0; o < kOutputs; ++o) {
          const double expected = hermite_coefficient(network, o, at);
          const double error = he.cwiseProduct(r.col(o)).norm() / kRows;
          const auto pair = [&](size_t i) {
            return symmetric_position(std::min(at[i], at[i + 1]), std::max(at[i], at[i + 1]));
          };
          const auto root = [&](size_t i) { return at[i] == at[i + 1] ? 1 : std::sqrt(2.0); };
          double entry = 0;
          if (p == 0) entry = found(0, o);
          if (p == 1) entry = found(at[0], o);
          if (p == 2) entry = found(pair(0), o) / root(0);
          if (p == 3) entry = found(pair(0), o * kInputs + at[2]) / root(0);
          if (p == 4) entry = found(pair(0), o * symmetric_size(kInputs) + pair(2)) / (root(0) * root(2));
          EXPECT_NEAR(entry, expected, kTail * error) << "order " << p << ", seed " << seed;
          errors += error * error;
          sizes += expected * expected;
          next.col(o) -= (expected / factorial) * he;
        }
      }
      EXPECT_LT(kTail * std::sqrt(errors), std::sqrt(sizes))
          << "order " << p << ": a tensor of zeros would pass";
      r = next;
    }
  }
}

TEST(Moments, AgreeWithNaiveLoops) {
  constexpr Index kRows = 41, kInputs = 10, kOutputs = 2;
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

TEST(Moments, TheNoiseHasTheSizeOfTheError) {
  // Order 2 of a planted network, residualised on degree 1 by a fit. The error of the estimate and the
  // difference D of the halves have the same law: each entry is within six standard errors of the terms,
  // exceeded by one of the 84 with less than 1e-6. And D is not small by accident: over more than ten degrees
  // of freedom it falls below a fifth of its size with less than 1e-5.
  constexpr double kTail = 6;
  constexpr Index kRows = 200000;
  const Network network = plant({.inputs = 6, .hidden = 4, .outputs = 2, .seed = 11});
  const SamplePtr samples = planted_samples(network, {.samples = kRows, .seed = 12});
  const auto fit = std::make_shared<PolynomialFit>(fit_polynomial(*samples, 1, {}));
  const SamplePtr left = with_outputs(samples, [fit](const auto& x, RowMatrix& y) { y -= fit->evaluate(x); });
  const HermiteMoments moments = hermite_moments(*left, 2, {});
  Matrix expected = Matrix::Zero(symmetric_size(6), 2);
  for (Index i = 0; i < 4; ++i) {
    const double density = std::exp(-network.b()(i) * network.b()(i) / 2) / std::sqrt(2 * M_PI);
    expected +=
        rank_one_coordinates(network.W().row(i).transpose()) * (density * network.A().col(i).transpose());
  }
  SampleBlock block;
  left->read(0, kRows, block);
  const Matrix estimate = moments.estimate(2), noise = moments.noise(2);
  Matrix errors(symmetric_size(6), 2);
  for (Index b = 0; b < 6; ++b) {
    for (Index a = 0; a <= b; ++a) {
      const Index at = symmetric_position(a, b);
      const auto he = (block.x().col(a).array() * block.x().col(b).array() - (a == b ? 1 : 0)).eval();
      for (Index o = 0; o < 2; ++o) {
        errors(at, o) =
            (he * block.y().col(o).array()).matrix().norm() * (a == b ? 1 : std::sqrt(2.0)) / kRows;
        EXPECT_NEAR(estimate(at, o), expected(at, o), kTail * errors(at, o)) << a << " " << b;
        EXPECT_LE(std::abs(noise(at, o)), kTail * errors(at, o)) << a << " " << b;
      }
    }
  }
  EXPECT_GT(noise.norm(), 0.2 * errors.norm());
  EXPECT_LT(kTail * errors.norm(), expected.norm()) << "moments of zero would pass";
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
  // The inputs themselves are rounded to 1.5e-8 there: 2 |x| 0.75e-8 a product, four entries.
  EXPECT_LT((near.covariance_x() - far.covariance_x()).norm(), 4 * 2 * 0.75e-8);
}

// Conjugate gradients stop at this share of the first residual in the norm of diag(1 / p!), as
// polynomial_fit.cc has it.
constexpr double kEnough = 1e-5;

TEST(PolynomialFit, ReproducesACubic) {
  const RowMatrix x = Stream(7, "x").normal_matrix(4000, 3);
  RowMatrix y(4000, 1);
  for (Index i = 0; i < 4000; ++i)
    y(i, 0) = 1 + x(i, 0) - 2 * x(i, 1) * x(i, 2) + x(i, 0) * x(i, 0) * x(i, 1) + x(i, 2) * x(i, 2) * x(i, 2);
  const PolynomialFit fit = fit_polynomial(*memory_samples(x, y), 3, {}, 60, kEnough);
  // The fitted values are then off by kEnough times the root of the condition of the scaled features, which
  // for 20 of them on 4,000 rows is below ten.
  EXPECT_LT((fit.evaluate(x) - y).norm(), kEnough * std::sqrt(10.0) * y.norm());
}

TEST(PolynomialFit, LeavesAResidualOrthogonalToLowerDegrees) {
  const RowMatrix x = Stream(8, "x").normal_matrix(3000, 4);
  const RowMatrix y = x.cwiseAbs().rowwise().sum();
  const PolynomialFit fit = fit_polynomial(*memory_samples(x, y), 2, {}, 60, kEnough);
  const HermiteMoments left = hermite_moments(*memory_samples(x, y - fit.evaluate(x)), 2, {});
  const HermiteMoments all = hermite_moments(*memory_samples(x, y), 2, {});
  // No correlation with any polynomial of degree 2 is left, so no Hermite moment of orders 0 to 2: the rule
  // by which the fit stopped. 3,000 rows have equal halves.
  double squares_left = 0, squares = 0;
  for (int p = 0; p <= 2; ++p) {
    const double factorial = p == 2 ? 2 : 1;
    squares_left += left.estimate(p).squaredNorm() / factorial;
    squares += all.estimate(p).squaredNorm() / factorial;
  }
  EXPECT_LE(std::sqrt(squares_left), 1.001 * kEnough * std::sqrt(squares));
  EXPECT_LT(fit.iterations, 60);
}

}  // namespace
}  // namespace exhume::moments_test
