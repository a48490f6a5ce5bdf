// Backward elimination: worths against least squares fitted anew; of doubled units one goes, not both.
#include "fit/elimination.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "base/random.h"
#include "exhume/samples.h"
#include "model/activation_table.h"

namespace exhume::elimination_test {
namespace {

// Sum of squares that these columns leave of y.
double left_by(const Matrix& F, const Matrix& y) {
  return (y - F * F.colPivHouseholderQr().solve(y)).squaredNorm();
}

TEST(Elimination, WorthsAreWhatTheSumOfSquaresRisesBy) {
  const Matrix F = Stream(1, "F").normal_matrix(40, 5), y = Stream(2, "y").normal_matrix(40, 2);
  const Matrix gram = F.transpose() * F;
  Elimination units(gram, gram.ldlt().solve(F.transpose() * y), {{0, 3}, {1}, {2, 4}});
  const double all = left_by(F, y);
  const std::vector<std::vector<Index>> stay = {{1, 2, 4}, {0, 2, 3, 4}, {0, 1, 3}};
  const Vector worth = units.worth();
  for (Index g = 0; g < 3; ++g)
    EXPECT_NEAR(worth(g), left_by(F(Eigen::all, stay[static_cast<std::size_t>(g)]), y) - all, 1e-12 * all);
  units.remove(1);
  const Vector after = units.worth();
  const double before = left_by(F(Eigen::all, std::vector<Index>{0, 2, 3, 4}), y);
  EXPECT_NEAR(after(0), left_by(F(Eigen::all, std::vector<Index>{2, 4}), y) - before, 1e-12 * all);
  EXPECT_NEAR(after(2), left_by(F(Eigen::all, std::vector<Index>{0, 3}), y) - before, 1e-12 * all);
  EXPECT_EQ(after(1), std::numeric_limits<double>::infinity());
}

TEST(Elimination, SpareGroupsGoWhileTheySumUpToLittle) {
  // Orthogonal columns of worths 1, 4, 9 and 16.
  const Vector c = (Vector(4) << 1, 2, 3, 4).finished();
  const Matrix gram = Matrix::Identity(4, 4);
  const auto gone = [&](double allowed, Index least) {
    return Elimination(gram, c, {{0}, {1}, {2}, {3}}).remove_spare(allowed, least);
  };
  EXPECT_EQ(gone(0.5, 0), std::vector<Index>());
  EXPECT_EQ(gone(5.5, 0), (std::vector<Index>{0, 1}));
  EXPECT_EQ(gone(100, 0), (std::vector<Index>{0, 1, 2, 3}));
  EXPECT_EQ(gone(100, 3), (std::vector<Index>{0}));
  EXPECT_EQ(Elimination(Matrix(0, 0), Matrix(0, 1), {}).remove_spare(1, 0), std::vector<Index>());
}

// Units 1 and 3 are the same but for 1e-6 and a turn, which the linear term takes up; so are 0 and 4.
TEST(Elimination, OfDoubledUnitsOneGoes) {
  const Index d = 3, k = 3;
  Matrix V(k + 2, d + 1);
  V.topRows(k) = Stream(3, "V").normal_matrix(k, d + 1);
  V.row(3) = -V.row(1);
  V.row(4) = V.row(0);
  V.bottomRows(2) += 1e-6 * Stream(4, "apart").normal_matrix(2, d + 1);
  Form form = one_layer(V);
  form.turned = true;
  form.rectifier = std::make_shared<const Rectifier>(parse_rectifier("gelu"));
  form.C = Matrix::Ones(form.features(), 1);
  RowMatrix x(500, d);
  Stream(5, "x").fill_normal(0, x);
  const SamplePtr rows = memory_samples(x, evaluate(form, x));
  for (Elimination units :
       {linearised_units(form, *rows, Control()), features_of_units(form, *rows, Control())}) {
    const std::vector<Index> gone = units.remove_spare(1e-6, 1);
    const auto went = [&](Index j) { return std::count(gone.begin(), gone.end(), j); };
    EXPECT_EQ(gone.size(), 2U);
    EXPECT_EQ(went(0) + went(4), 1);
    EXPECT_EQ(went(1) + went(3), 1);
  }
}

}  // namespace
}  // namespace exhume::elimination_test
