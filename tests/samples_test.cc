#include "exhume/samples.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "base/parallel.h"
#include "base/random.h"
#include "exhume/error.h"
#include "moments/standardise.h"

namespace exhume::samples_test {
namespace {

SamplePtr numbered(Index rows) {
  RowMatrix x(rows, 1), y(rows, 1);
  for (Index i = 0; i < rows; ++i) x(i, 0) = y(i, 0) = static_cast<double>(i);
  return memory_samples(x, y);
}

std::vector<double> values(const SampleSource& source, Index step) {
  std::vector<double> out;
  SampleBlock block;
  for (Index first = 0; first < source.rows(); first += step) {
    source.read(first, std::min(step, source.rows() - first), block);
    for (Index i = 0; i < block.rows(); ++i) out.push_back(block.x()(i, 0));
  }
  return out;
}

TEST(Samples, ASplitIsAPartitionHoweverItIsRead) {
  for (const Index rows : {0, 1, 19, 20, 21, 137, 1000}) {
    const Split parts = split(numbered(rows), 20, 5);
    std::multiset<double> all;
    const std::vector<double> training = values(*parts.training, 7);
    EXPECT_EQ(training, values(*parts.training, 1000));
    EXPECT_TRUE(std::is_sorted(training.begin(), training.end()));
    for (const double v : training) all.insert(v);
    for (const double v : values(*parts.held_out, 3)) all.insert(v);
    ASSERT_EQ(static_cast<Index>(all.size()), rows);
    Index expected = 0;
    for (const double v : all) EXPECT_EQ(v, static_cast<double>(expected++));
    EXPECT_EQ(parts.held_out->rows(), rows / 20);
  }
}

TEST(Samples, ASpreadSubsetHasDistinctRowsFromEndToEnd) {
  for (const Index count : {1, 63, 64, 65, 500, 999, 1000, 2000}) {
    const std::vector<double> rows = values(*spread_subset(*numbered(1000), count), 50);
    EXPECT_EQ(static_cast<Index>(std::set<double>(rows.begin(), rows.end()).size()),
              std::min<Index>(count, 1000));
    if (count > 64) {
      EXPECT_GE(rows.back(), 990);
    }
  }
}

TEST(Samples, ARandomSubsetHasDistinctRowsInOrderAndIsThatOfItsSeed) {
  for (const Index count : {1, 63, 64, 65, 500, 999, 1000, 2000}) {
    const std::vector<double> rows = values(*random_subset(*numbered(1000), count, 3), 50);
    EXPECT_EQ(static_cast<Index>(rows.size()), std::min<Index>(count, 1000));
    EXPECT_EQ(std::set<double>(rows.begin(), rows.end()).size(), rows.size());
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_LT(rows.back(), 1000);
    EXPECT_EQ(rows, values(*random_subset(*numbered(1000), count, 3), 50));
  }
  EXPECT_NE(values(*random_subset(*numbered(1000), 128, 3), 50),
            values(*random_subset(*numbered(1000), 128, 4), 50));
}

TEST(Samples, HeldOutRowsAreTheSameHoweverManyAreReadAtOnce) {
  // Short rows are read with those between them, many at once.
  const Split parts = split(numbered(40'000), 50, 5);
  const std::vector<double> one_by_one = values(*parts.held_out, 1);
  EXPECT_EQ(one_by_one, values(*parts.held_out, 700));
  EXPECT_EQ(one_by_one, values(*parts.held_out, 800));
  EXPECT_EQ(one_by_one.size(), 800U);
}

TEST(Samples, AffineMapIsApplied) {
  const RowMatrix x = (RowMatrix(1, 2) << 3, 5).finished(), y = (RowMatrix(1, 1) << 7).finished();
  const AffineMap map{(Matrix(1, 2) << 2, -1).finished(), (Vector(2) << 1, 1).finished(),
                      (Vector(1) << 3).finished(), (Vector(1) << 5).finished()};
  SampleBlock block;
  affine(memory_samples(x, y), map)->read(0, 1, block);
  EXPECT_EQ(block.x()(0, 0), 2 * 2 - 4);
  EXPECT_EQ(block.y()(0, 0), 6);
}

TEST(Samples, ShapesThatDoNotFitAreRefused) {
  EXPECT_THROW((void)memory_samples(RowMatrix(3, 1), RowMatrix(4, 1)), std::invalid_argument);
  EXPECT_THROW((void)split(numbered(10), 1, 0), std::invalid_argument);
}

TEST(Parallel, TheFirstFailureIsThrownAgain) {
  Control control;
  control.threads = 4;
  std::atomic<int> done{0};
  EXPECT_THROW(parallel_for(1000, control,
                            [&](Index i) {
                              if (i == 10) throw DataError("row 10");
                              ++done;
                            }),
               DataError);
  EXPECT_LT(done, 1000);
}

TEST(Parallel, InterruptionEndsTheWork) {
  Control control;
  control.threads = 2;
  std::atomic<int> calls{0};
  control.should_stop = [&] { return ++calls > 5; };
  EXPECT_THROW(parallel_for(100000, control, [](Index) {}), Interrupted);
}

TEST(Parallel, TheTreeDependsOnlyOnBlockNumbers) {
  struct Word {
    std::string text;
    void merge(const Word& other) { text = "(" + text + other.text + ")"; }
  };
  const std::string expected = "(((01)(23))4)";
  for (const std::vector<Index>& order :
       {std::vector<Index>{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}}) {
    BlockTree<Word> tree(5);
    for (const Index b : order) tree.put(b, {std::to_string(b)});
    EXPECT_EQ(tree.take().text, expected);
  }
}

TEST(Random, RowsDoNotDependOnHowTheyAreDrawn) {
  const Stream stream(9, "rows");
  RowMatrix whole(10, 5), part(3, 5);
  stream.fill_normal(0, whole);
  stream.fill_normal(4, part);
  EXPECT_TRUE(part == whole.middleRows(4, 3));
  RowMatrix other(10, 5);
  Stream(9, "other").fill_normal(0, other);
  EXPECT_FALSE(other == whole);
}

TEST(Random, NormalsHaveTheRightMoments) {
  RowMatrix z(200000, 1);
  Stream(10, "normal").fill_normal(0, z);
  // Five standard errors each: a chance of about one in a million to fail.
  EXPECT_NEAR(z.mean(), 0, 5 / std::sqrt(200000.0));
  EXPECT_NEAR(z.array().square().mean(), 1, 5 * std::sqrt(2 / 200000.0));
  EXPECT_NEAR(z.array().pow(4).mean(), 3, 5 * std::sqrt(96 / 200000.0));
}

TEST(Standardise, GivesMeanZeroAndCovarianceOneAndComesBack) {
  const Matrix mix = Stream(11, "mix").normal_matrix(3, 3);
  RowMatrix x = Stream(11, "x").normal_matrix(5000, 3) * mix;
  x.col(1) *= 1e6;
  x.array() += 7;
  const RowMatrix y = x.cwiseAbs() * Matrix::Ones(3, 2);
  const SamplePtr samples = memory_samples(x, y);
  const Standardisation standard = standardise(second_moments(*samples, {}));
  const SecondMoments after = second_moments(*affine(samples, standard.map), {});
  EXPECT_LT(after.mean.norm(), 1e-9);
  EXPECT_LT((after.covariance_x() - Matrix::Identity(3, 3)).norm(), 1e-8);
  Network network;
  network.W() = Stream(12, "W").normal_matrix(4, 3);
  network.b() = Stream(12, "b").normal_matrix(4, 1).col(0);
  network.A() = Stream(12, "A").normal_matrix(2, 4);
  network.c() = Stream(12, "c").normal_matrix(2, 1).col(0);
  network.L() = Stream(12, "L").normal_matrix(2, 3);
  EXPECT_LT(align(standard.to_user(standard.from_user(network)), network).worst_error, 1e-6);
}

TEST(Standardise, NamesConstantCopiedAndDependentColumns) {
  const auto refusal = [](const RowMatrix& x, const RowMatrix& y) -> std::string {
    try {
      (void)standardise(second_moments(*memory_samples(x, y), {}));
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  };
  RowMatrix x = Stream(13, "x").normal_matrix(500, 3);
  const RowMatrix y = Stream(13, "y").normal_matrix(500, 1);
  EXPECT_EQ(refusal(x, y), "");
  RowMatrix bad = x;
  bad.col(2).setConstant(0.1);
  EXPECT_NE(refusal(bad, y).find("column 2 (counting from 0) is constant"), std::string::npos);
  // What is not constant is not called so.
  bad.col(2) = 1e9 + 1e-6 * x.col(2).array();
  EXPECT_NE(refusal(bad, y).find("constant to within rounding of its mean"), std::string::npos);
  bad.col(2) = 1e-200 * x.col(2);
  EXPECT_NE(refusal(bad, y).find("below 1e-145"), std::string::npos);
  bad.col(2).setZero();
  EXPECT_NE(refusal(bad, y).find("column 2 (counting from 0) is constant"), std::string::npos);
  bad = x;
  bad.col(2) = 3 * x.col(0).array() - 1;
  EXPECT_NE(refusal(bad, y).find("columns 0 and 2"), std::string::npos);
  bad.col(2) = x.col(0) + x.col(1);
  EXPECT_NE(refusal(bad, y).find("linearly dependent"), std::string::npos);
  EXPECT_NE(refusal(x, RowMatrix::Constant(500, 1, 3.5)).find("outputs: column 0"), std::string::npos);
}

}  // namespace
}  // namespace exhume::samples_test
