#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "data/views.h"
#include "exhume/error.h"
#include "linalg/symmetric_matrix.h"
#include "moments/cross_moments.h"
#include "refusal.h"
#include "symmetric_population.h"

namespace exhume::symmetric_moments_test {
namespace {

// Small integers: every sum is exact, so equality can be asked for. The factor sqrt(2) of coordinates is
// divided out.
SamplePtr integer_samples(Index n, Index d, Index m, std::uint64_t seed) {
  const auto draw = [&](Index columns, const char* purpose) {
    RowMatrix u(n, columns);
    Stream(seed, purpose).fill_uniform(0, u);
    return RowMatrix((u.array() * 7).floor() - 3);
  };
  return memory_samples(draw(d, "x"), draw(m, "y"));
}

TEST(CrossMoments, AreTheSumsOfProductsOnIntegers) {
  // Coordinates without a root of two are whole numbers below 3^4 * 4,097 and must be equal. With it, the
  // factor, every feature and every sum of n terms is rounded once.
  constexpr double kRounding = 2.3e-16;
  for (const Index n : {1, 2, 511, 513, 4097}) {
    for (const auto& sizes : {std::pair<Index, Index>{1, 1}, {3, 2}, {9, 3}, {17, 1}}) {
      const Index d = sizes.first, m = sizes.second;
      const SamplePtr samples = integer_samples(n, d, m, 3);
      SampleBlock all;
      samples->read(0, n, all);
      const RowMatrix x = all.x(), y = all.y();
      const CrossMoments moments = cross_moments(*samples, {});
      const double count = static_cast<double>(n), tolerance = 4 * kRounding * (count + 4) * 81 * count;
      ASSERT_EQ(moments.count, n);
      const auto expect = [&](double found, double sum, int roots, const char* what) {
        if (roots == 0) {
          EXPECT_EQ(found, sum) << what << ", " << n << " rows, " << d << " inputs";
        } else {
          EXPECT_NEAR(found, std::pow(std::sqrt(2.0), roots) * sum, tolerance)
              << what << ", " << n << " rows, " << d << " inputs";
        }
      };
      const auto entry = [](const Matrix& lower, Index i, Index j) {
        return lower(std::max(i, j), std::min(i, j));
      };
      expect(moments.gram(0, 0), count, 0, "1");
      EXPECT_EQ(moments.yy, Matrix(y.transpose() * y));
      EXPECT_EQ(Vector(moments.phi_y.row(0).transpose()), Vector(y.colwise().sum().transpose()));
      EXPECT_EQ(Matrix(moments.phi_y.middleRows(1, d)), Matrix(x.transpose() * y));
      for (Index a = 0; a < d; ++a) {
        expect(entry(moments.gram, 0, 1 + a), x.col(a).sum(), 0, "x");
        for (Index b = 0; b < d; ++b)
          expect(entry(moments.gram, 1 + a, 1 + b), x.col(a).dot(x.col(b)), 0, "xx");
      }
      const Matrix third = moments.mean_yqxx(Matrix::Identity(d, d));
      for (Index b = 0; b < d; ++b) {
        for (Index a = 0; a <= b; ++a) {
          const int roots = a == b ? 0 : 1;
          const double root = std::pow(std::sqrt(2.0), roots);
          const Vector xx = x.col(a).cwiseProduct(x.col(b));
          const Index at = symmetric_position(a, b), row = 1 + d + at;
          expect(entry(moments.gram, row, 0), xx.sum(), roots, "1 xx");
          for (Index c = 0; c < d; ++c) {
            expect(entry(moments.gram, row, 1 + c), xx.dot(x.col(c)), roots, "xxx");
            for (Index e = 0; e <= c; ++e) {
              expect(entry(moments.gram, row, 1 + d + symmetric_position(e, c)),
                     xx.dot(x.col(c).cwiseProduct(x.col(e))), roots + (e == c ? 0 : 1), "xxxx");
            }
          }
          for (Index o = 0; o < m; ++o) {
            expect(moments.phi_y(row, o), xx.dot(y.col(o)), roots, "yxx");
            for (Index c = 0; c < d; ++c) {
              const double sum = xx.dot(x.col(c).cwiseProduct(y.col(o)));
              if (c >= b) expect(moments.yxxx(at, c * m + o), sum, roots, "yxxx");
              // A mean: divided by the count, and found at another entry where c < b.
              EXPECT_NEAR(third(at, c * m + o) * count / root, sum, tolerance) << n << " " << d;
            }
            for (Index r = 0; r <= o; ++r) {
              expect(moments.yyxx(at, symmetric_position(r, o)), xx.dot(y.col(o).cwiseProduct(y.col(r))),
                     roots + (r == o ? 0 : 1), "yyxx");
            }
          }
        }
      }
      EXPECT_EQ(moments.mean_yyxx(), Matrix(moments.yyxx / count));
      EXPECT_EQ(moments.mean_xx(), Matrix(x.transpose() * x / count));
      EXPECT_EQ(moments.mean_yx(), Matrix(y.transpose() * x / count));
      EXPECT_EQ(moments.mean_yy(), Matrix(y.transpose() * y / count));
    }
  }
}

TEST(CrossMoments, AgreeWithThePopulationWithinTheirSamplingError) {
  // Gaussian inputs, two orthonormal units z_1, z_2 without bias, y = A (z_1+, z_2+). With z+ = max(z, 0): E
  // z+ = 1 / sqrt(2 pi), E z+ z = 1/2, E z+ z^2 = 2 / sqrt(2 pi), E z+ z^3 = 3/2 (also of the square times
  // z^2). An entry is a mean of n independent terms; six standard errors are exceeded with probability 2e-9
  // each, by one of the 72 entries of the two seeds with less than 1e-6.
  constexpr double kTail = 6;
  constexpr Index kRows = 100000, kInputs = 3, kOutputs = 2;
  const double half_mean = 1 / std::sqrt(2 * M_PI);
  for (const std::uint64_t seed : {17, 18}) {
    const Matrix basis =
        Eigen::HouseholderQR<Matrix>(Stream(seed, "W").normal_matrix(kInputs, kInputs)).householderQ();
    Network network;
    network.W() = basis.leftCols(2).transpose();
    network.A() = Stream(seed, "A").normal_matrix(kOutputs, 2);
    network.b() = Vector::Zero(2);
    network.c() = Vector::Zero(kOutputs);
    const RowMatrix x = Stream(seed, "x").normal_matrix(kRows, kInputs), y = evaluate(network, x);
    const CrossMoments moments = cross_moments(*memory_samples(x, y), {});
    double errors = 0, sizes = 0;
    const auto check = [&](const Vector& terms, double found, double expected) {
      const double error = terms.norm() / static_cast<double>(kRows);
      EXPECT_NEAR(found, expected, kTail * error) << "seed " << seed;
      errors += error * error;
      sizes += expected * expected;
    };
    const Matrix third = moments.mean_yqxx(Matrix::Identity(kInputs, kInputs)), fourth = moments.mean_yyxx();
    for (Index b = 0; b < kInputs; ++b) {
      for (Index a = 0; a <= b; ++a) {
        const Index at = symmetric_position(a, b);
        const double root = a == b ? 1 : std::sqrt(2.0);
        const Vector xx = x.col(a).cwiseProduct(x.col(b));
        for (Index o = 0; o < kOutputs; ++o) {
          for (Index c = 0; c < kInputs; ++c) {
            // E[z+ x_a x_b x_c]: third Hermite coefficient (zero without bias) and the pairings with E[z+ x]
            // = w / 2.
            double expected = 0;
            for (Index i = 0; i < 2; ++i) {
              const auto w = network.W().row(i);
              expected +=
                  network.A()(o, i) / 2 * ((a == b ? w(c) : 0) + (a == c ? w(b) : 0) + (b == c ? w(a) : 0));
            }
            check(xx.cwiseProduct(x.col(c)).cwiseProduct(y.col(o)), third(at, c * kOutputs + o) / root,
                  expected);
          }
          for (Index r = 0; r <= o; ++r) {
            double expected = 0;
            for (Index i = 0; i < 2; ++i) {
              for (Index j = 0; j < 2; ++j) {
                // E[z_i+ z_j+ xx^T] in the basis (w_1, w_2, rest).
                Matrix inner = Matrix::Zero(3, 3);
                if (i == j) {
                  inner.diagonal().setConstant(0.5);
                  inner(i, i) = 1.5;
                } else {
                  inner.diagonal().setConstant(half_mean * half_mean);
                  inner(0, 0) = inner(1, 1) = 2 * half_mean * half_mean;
                  inner(0, 1) = inner(1, 0) = 0.25;
                }
                expected += network.A()(o, i) * network.A()(r, j) * (basis * inner * basis.transpose())(a, b);
              }
            }
            const double scale = root * (o == r ? 1 : std::sqrt(2.0));
            check(xx.cwiseProduct(y.col(o)).cwiseProduct(y.col(r)),
                  fourth(at, symmetric_position(r, o)) / scale, expected);
          }
        }
      }
    }
    EXPECT_LT(kTail * std::sqrt(errors), 0.5 * std::sqrt(sizes)) << "moments of half the size would pass";
  }
}

TEST(CrossMoments, DoNotDependOnThreads) {
  const SamplePtr samples = integer_samples(20000, 4, 3, 5);
  Control one, three;
  one.threads = 1;
  three.threads = 3;
  const CrossMoments a = cross_moments(*samples, one), b = cross_moments(*samples, three);
  EXPECT_EQ(a.gram, b.gram);
  EXPECT_EQ(a.yxxx, b.yxxx);
  EXPECT_EQ(a.yyxx, b.yyxx);
}

TEST(CrossMoments, LinearPartsAgreeOnASymmetricPopulation) {
  const auto population = testing::symmetric_population(4, 3, 5, 60, 0, 0, 7);
  const CrossMoments moments = cross_moments(*population.samples, {});
  const Matrix truth = population.network.A() * population.network.W() / 2;
  EXPECT_LE((moments.linear_part() - truth).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LE((moments.linear_part_controlled() - truth).cwiseAbs().maxCoeff(), 1e-8);  // its ridge is 1e-10
}

TEST(Views, MixCutAndMirror) {
  const SamplePtr samples = integer_samples(7, 2, 1, 9), labels = integer_samples(7, 2, 1, 10);
  SampleBlock all, mirror, part, one;
  samples->read(0, 7, all);
  labels->read(0, 7, mirror);
  const SamplePtr cut = row_range(samples, 2, 3);
  cut->read(1, 2, part);
  EXPECT_EQ(RowMatrix(part.x()), RowMatrix(all.x().middleRows(3, 2)));
  EXPECT_THROW((void)row_range(samples, 5, 3), std::invalid_argument);
  Matrix P(1, 2), Q(2, 1);
  P << 2, -1;
  Q << 3, 4;
  linear_view(samples, P, Q)->read(0, 7, part);
  EXPECT_EQ(RowMatrix(part.x()), RowMatrix(all.x() * P.transpose()));
  EXPECT_EQ(RowMatrix(part.y()), RowMatrix(all.y() * Q.transpose()));

  const SamplePtr both = mirrored_view(samples, labels);
  ASSERT_EQ(both->rows(), 14);
  // Rows come in groups of two originals and their two mirror images; the last, odd one alone with its own.
  const Index row[14] = {0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 6};
  const bool turned[14] = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1};
  for (Index first = 0; first < 14; ++first) {
    for (Index count = 0; first + count <= 14; ++count) {
      both->read(first, count, part);
      for (Index i = 0; i < count; ++i) {
        const Index r = row[first + i];
        EXPECT_EQ(part.x().row(i), (turned[first + i] ? -1 : 1) * all.x().row(r)) << first << " " << i;
        EXPECT_EQ(part.y()(i, 0), turned[first + i] ? mirror.y()(r, 0) : all.y()(r, 0));
      }
    }
  }
  EXPECT_THROW((void)mirrored_view(samples, integer_samples(6, 2, 1, 1)), DataError);
}

}  // namespace
}  // namespace exhume::symmetric_moments_test
