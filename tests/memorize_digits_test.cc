// Must show: handwritten digits, true and random labels, in two layers and in three.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.h"
#include "exhume/memorize.h"
#include "exhume/papers/memorize.h"
#include "io/open.h"

namespace exhume::memorize_digits_test {
namespace {

struct Digits {
  RowMatrix x, labels, random;
};

Digits digits() {
  const SamplePtr samples = open_samples(std::filesystem::path(EXHUME_DATA) / "digits.npz");
  SampleBlock block;
  samples->read(0, samples->rows(), block);
  Digits out{block.x(), block.y(), RowMatrix(samples->rows(), 1)};
  for (Index i = 0; i < out.random.rows(); ++i) {
    out.random(i, 0) = static_cast<double>(Stream(1, "digits").below(10, static_cast<std::uint64_t>(i)));
  }
  return out;
}

TEST(MemorizeDigits, TwoLayersWithPerturbation) {
  const Digits data = digits();
  ASSERT_EQ(data.x.rows(), 1797);
  MemorizeOptions options;
  options.perturb = 0.01;
  for (const bool normalize : {true, false}) {
    options.normalize = normalize;
    for (const RowMatrix* y : {&data.labels, &data.random}) {
      const MemorizeResult result = memorize(data.x, *y, options);
      EXPECT_TRUE(result.memorized()) << result.certificate.reason;
      EXPECT_EQ(result.layers, 2);
      EXPECT_LE(result.relative_error, 1e-16);
      EXPECT_EQ(result.accuracy, 1);
      EXPECT_LE(static_cast<double>(result.network.parameters()), 2.4 * 1797);
    }
  }
}

TEST(MemorizeDigits, ThreeLayersOnTwentyPrincipalComponents) {
  const Digits data = digits();
  const RowMatrix unit = unit_rows(data.x), centred = unit.rowwise() - unit.colwise().mean();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(centred.transpose() * centred);
  const RowMatrix few = centred * eigen.eigenvectors().rightCols(20);
  MemorizeOptions options;
  options.layers = 3;
  options.power = 2;
  options.perturb = 0.05;
  for (const RowMatrix* y : {&data.labels, &data.random}) {
    const MemorizeResult result = memorize(few, *y, options);
    EXPECT_TRUE(result.memorized()) << result.certificate.reason;
    EXPECT_EQ(result.network.features(), 86) << "2 ceil(sqrt 1797)";
    EXPECT_EQ(result.accuracy, 1);
  }
}

// Pixels are whole numbers and their corners empty: without noise the rows are not in general position.
TEST(MemorizeDigits, UnperturbedRowsAreReportedAsDependent) {
  const Digits data = digits();
  const MemorizeResult result = memorize(data.x, data.random);
  EXPECT_FALSE(result.memorized());
  EXPECT_FALSE(result.closed_form.full_rank);
  EXPECT_NE(result.certificate.reason.find("perturb 0.01"), std::string::npos);
}

}  // namespace
}  // namespace exhume::memorize_digits_test
