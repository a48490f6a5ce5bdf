#include "certify/verify.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "data/planted.h"

namespace exhume::verify_test {
namespace {

TEST(Verify, IntegersExactly) {
  Network network;
  network.W() = (Matrix(2, 2) << 1, -1, 2, 0).finished();
  network.b() = (Vector(2) << 0, -3).finished();
  network.A() = (Matrix(1, 2) << 2, -1).finished();
  network.c() = (Vector(1) << 5).finished();
  network.L() = (Matrix(1, 2) << 1, 1).finished();
  RowMatrix x = (RowMatrix(3, 2) << 3, 1, 0, 4, 1, 1).finished();
  RowMatrix y = (RowMatrix(3, 1) << 10, 9, 7).finished();  // f = 10, 9, 7
  Verification v = verify(network, *memory_samples(x, y));
  EXPECT_EQ(v.rows, 3);
  EXPECT_EQ(v.relative_mse, 0);
  EXPECT_EQ(v.worst_error, 0);
  y(1, 0) = 13;  // an error of 4; the outputs are 10, 13, 7: variance 18 / 3
  v = verify(network, *memory_samples(x, y));
  EXPECT_EQ(v.worst_row, 1);
  EXPECT_EQ(v.worst_output, 0);
  EXPECT_EQ(v.worst_error, 4);
  EXPECT_NEAR(v.relative_mse, 16.0 / 18, 1e-15);
  EXPECT_NEAR(v.rms_error, 4 / std::sqrt(3), 1e-15);
}

TEST(Verify, SeveralLayersWithSkipTermsOfIntegersExactly) {
  Network network;
  network.layers = {{Matrix{{1, -1}, {2, 0}}, Vector{{0, -3}}, Matrix()},
                    {Matrix{{1, 1}}, Vector{{-1}}, Matrix{{1, 0}}},
                    {Matrix{{2}}, Vector{{5}}, Matrix{{0, 1, 1, -1}}}};
  const RowMatrix x = (RowMatrix(3, 2) << 3, 1, 0, 4, 1, 1).finished();
  // h1 = (2, 3), (0, 0), (0, 0); z2 = 5 - 1 + 3, -1, -1 + 1; f = 2 h2 + 5 + x2 + h11 - h12
  RowMatrix y = (RowMatrix(3, 1) << 19, 9, 6).finished();
  EXPECT_EQ(verify(network, *memory_samples(x, y)).worst_error, 0);
  y(2, 0) = 8;
  const Verification v = verify(network, *memory_samples(x, y));
  EXPECT_EQ(v.worst_row, 2);
  EXPECT_EQ(v.worst_error, 2);
}

TEST(Verify, PlantedSamplesAgreeToRounding) {
  const Network network = plant({.inputs = 6, .hidden = 9, .outputs = 3, .seed = 2});
  const SamplePtr samples =
      planted_samples(network, {.samples = 3 * kBlockRows + 17, .mean = 1000, .seed = 2});
  const Verification v = verify(network, *samples);
  EXPECT_EQ(v.rows, 3 * kBlockRows + 17);
  EXPECT_LT(v.relative_mse, 1e-24);
  Control two;
  two.threads = 2;
  const Verification again = verify(network, *samples, two);
  EXPECT_EQ(v.relative_mse, again.relative_mse);
  EXPECT_EQ(v.worst_row, again.worst_row);
}

TEST(Verify, FindsATamperedWeight) {
  Network network = plant({.inputs = 6, .hidden = 9, .outputs = 3, .seed = 3});
  const SamplePtr samples = planted_samples(network, {.samples = 1000, .seed = 3});
  network.A()(1, 4) += 1e-6;
  const Verification v = verify(network, *samples);
  EXPECT_GT(v.relative_mse, 1e-16);
  EXPECT_EQ(v.worst_output, 1);
}

TEST(Verify, RefusesOtherShapes) {
  const Network network = plant({.inputs = 2, .hidden = 2, .outputs = 1});
  EXPECT_THROW((void)verify(network, *memory_samples(RowMatrix::Zero(3, 3), RowMatrix::Zero(3, 1))),
               std::invalid_argument);
}

TEST(Verify, ConstantOutputs) {
  Network network = plant({.inputs = 2, .hidden = 2, .outputs = 1});
  EXPECT_TRUE(std::isinf(
      verify(network, *memory_samples(RowMatrix::Ones(3, 2), RowMatrix::Zero(3, 1))).relative_mse));
  network.A().setZero();
  EXPECT_EQ(verify(network, *memory_samples(RowMatrix::Ones(3, 2), RowMatrix::Zero(3, 1))).relative_mse, 0);
}

}  // namespace
}  // namespace exhume::verify_test
