#include <gtest/gtest.h>

#include <cmath>

#include "exhume/moments/cross_moments.h"
#include "exhume/linalg/symmetric_matrix.h"
#include "exhume/data/views.h"
#include "refusal.h"
#include "symmetric_population.h"

namespace exhume {
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
  constexpr double kRootTolerance = 1e-12;  // sqrt(2) times an integer is rounded once a term
  for (const Index n : {1, 2, 511, 513, 4097}) {
    for (const auto& [d, m] : {std::pair<Index, Index>{1, 1}, {3, 2}, {9, 3}, {17, 1}}) {
      const SamplePtr samples = integer_samples(n, d, m, 3);
      SampleBlock all;
      samples->read(0, n, all);
      const RowMatrix x = all.x(), y = all.y();
      const CrossMoments moments = cross_moments(*samples, {});
      const double count = static_cast<double>(n);
      ASSERT_EQ(moments.count, n);
      EXPECT_LE((moments.mean_xx() * count - x.transpose() * x).cwiseAbs().maxCoeff(), 0) << n << " " << d;
      EXPECT_LE((moments.phi_y.middleRows(1, d) - x.transpose() * y).cwiseAbs().maxCoeff(), 0);
      EXPECT_EQ(moments.yy, Matrix(y.transpose() * y));
      EXPECT_EQ(Vector(moments.phi_y.row(0).transpose()), Vector(y.colwise().sum().transpose()));
      const Matrix Q = Matrix::Identity(d, d);
      const Matrix third = moments.mean_yqxx(Q), fourth = moments.mean_yyxx();
      for (Index b = 0; b < d; ++b) {
        for (Index a = 0; a <= b; ++a) {
          const double root = a == b ? 1 : std::sqrt(2.0);
          const Vector xx = x.col(a).cwiseProduct(x.col(b));
          const Index at = symmetric_position(a, b);
          for (Index o = 0; o < m; ++o) {
            for (Index c = 0; c < d; ++c) {
              const double expected = (xx.array() * x.col(c).array() * y.col(o).array()).sum();
              EXPECT_NEAR(third(at, c * m + o) * count / root, expected,
                          kRootTolerance * (1 + std::abs(expected)) * 10);
            }
            for (Index r = 0; r <= o; ++r) {
              const double expected = (xx.array() * y.col(o).array() * y.col(r).array()).sum();
              const double scale = root * (o == r ? 1 : std::sqrt(2.0));
              EXPECT_NEAR(fourth(at, symmetric_position(r, o)) * count / scale, expected,
                          kRootTolerance * (1 + std::abs(expected)) * 10);
            }
          }
        }
      }
    }
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
  const Matrix truth = population.network.A * population.network.W / 2;
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
  EXPECT_THROW((void)mirrored_view(samples, integer_samples(6, 2, 1, 1)), std::exception);
}

}  // namespace
}  // namespace exhume
