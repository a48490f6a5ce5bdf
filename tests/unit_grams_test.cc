#include "fit/unit_grams.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "fit/form_sums.h"
#include "fit/polish.h"
#include "fit/sums.h"

namespace exhume::unit_grams_test {
namespace {

// Slopes of units that are off at most rows, of either sign.
Matrix slopes_of(Index rows, Index units, std::uint64_t seed) {
  const Matrix drawn = Stream(seed, "slopes").normal_matrix(rows, units);
  return (drawn.array() > 0.5).select(drawn, (drawn.array() < -1).select(drawn, 0.0));
}

Matrix by_hand(const Matrix& X, const Matrix& slopes) {
  const Index w = X.cols(), k = slopes.cols();
  Matrix out = Matrix::Zero(k * w, k * w);
  for (Index r = 0; r < X.rows(); ++r)
    for (Index i = 0; i < k * w; ++i)
      for (Index j = 0; j < k * w; ++j)
        out(i, j) += slopes(r, i / w) * X(r, i % w) * slopes(r, j / w) * X(r, j % w);
  return out;
}

TEST(UnitGrams, AreThoseOfTheJacobian) {
  constexpr double kTolerance = 1e-12;  // sums of at most 70 terms of size 10
  for (const Index rows : {0, 1, 7, 70}) {
    const Matrix X = Stream(1, "features").normal_matrix(rows, 17), slopes = slopes_of(rows, 3, 2);
    Matrix JJ = Matrix::Zero(51, 51);
    add_unit_grams(X, slopes, JJ);
    complete_blocks(17, JJ);
    const Matrix expected = by_hand(X, slopes);
    for (Index j = 0; j < 51; ++j)
      for (Index i = j; i < 51; ++i) EXPECT_NEAR(JJ(i, j), expected(i, j), kTolerance) << rows << " rows";
  }
}

TEST(UnitGrams, ArePickedWhereUnitsAreOffAndFeaturesMany) {
  EXPECT_TRUE(sparse_enough(slopes_of(100, 3, 3), 40));
  EXPECT_FALSE(sparse_enough(slopes_of(100, 3, 3), 8));
  EXPECT_FALSE(sparse_enough(Matrix::Ones(100, 3), 40));
  EXPECT_FALSE(sparse_enough(Matrix(0, 3), 40));
}

// The normal matrix of a plain form of two wide layers against the Jacobian, row by row.
TEST(UnitGrams, GiveTheNormalMatrixOfAPlainForm) {
  constexpr Index kRows = 700, kInputs = 20;
  Form form;
  form.plain = true;
  form.inputs = kInputs;
  form.V = {Stream(5, "V").normal_matrix(18, kInputs + 1), Stream(6, "V").normal_matrix(4, 19)};
  normalise(form);
  form.C = Stream(7, "C").normal_matrix(5, 2);
  const RowMatrix x = Stream(8, "x").normal_matrix(kRows, kInputs);
  const DeepData data(x, Stream(9, "y").normal_matrix(kRows, 2));
  LinearSums linear = host_sums(data)->linear(form, Control());
  const Matrix H = host_sums(data)->normal_system(form, linear.FF, Control())->matrix();

  const FormRows rows(form, data.x);
  Matrix expected = Matrix::Zero(form.unknowns(), form.unknowns());
  for (Index o = 0; o < 2; ++o) {
    const Matrix J = rows.jacobian(form.C.col(o)), K = rows.F().transpose() * J;
    expected += J.transpose() * J - K.transpose() * solve_scaled(linear.FF, K);
  }
  Index at = 0;
  for (const Matrix& V : form.V) {
    for (Index j = 0; j < V.rows(); ++j, at += V.cols()) {
      auto block = expected.block(at, at, V.cols(), V.cols());
      block += (block.diagonal().mean() * V.row(j).transpose() * V.row(j)).eval();
    }
  }
  const double tolerance = 1e-10 * expected.cwiseAbs().maxCoeff();
  for (Index j = 0; j < H.cols(); ++j)
    for (Index i = j; i < H.rows(); ++i) ASSERT_NEAR(H(i, j), expected(i, j), tolerance) << i << ", " << j;
}

}  // namespace
}  // namespace exhume::unit_grams_test
