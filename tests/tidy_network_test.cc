// Networks before they are judged: units that nothing needs, units on one plane, skip terms that units carry;
// oracles that change their answers.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exhume/extract.h"
#include "extract/moves/tidy_network.h"
#include "model/form.h"
#include "normal_rows.h"
#include "planted_deep.h"

namespace exhume::tidy_network_test {
namespace {

constexpr double kRounding = 1e-11;  // of outputs of size 1, through three layers

RowMatrix queries(Index n, Index d, std::uint64_t seed) { return 2 * normal_rows(n, d, seed); }

double apart(const DeepForm& one, const DeepForm& two, const RowMatrix& x) {
  return (evaluate(one, x) - evaluate(two, x)).cwiseAbs().maxCoeff();
}

void add_unit(DeepForm& form, std::size_t l, const Eigen::RowVectorXd& row, double weight) {
  const Index k = form.V[l].rows();
  form.V[l].conservativeResize(k + 1, Eigen::NoChange);
  form.V[l].row(k) = row;
  Matrix above = l + 1 < form.depth() ? form.V[l + 1] : Matrix(form.C.transpose());
  Matrix wider(above.rows(), above.cols() + 1);
  wider << above.leftCols(k), Matrix::Constant(above.rows(), 1, weight), above.rightCols(1);
  if (l + 1 < form.depth())
    form.V[l + 1] = wider;
  else
    form.C = wider.transpose();
}

TEST(TidyNetwork, UnitsThatNothingNeedsAreLeftOut) {
  const DeepForm truth = to_plain_form(planted_deep(4, {4, 3}, 2, 3));
  const RowMatrix x = queries(300, 4, 1);
  DeepForm more = truth;
  add_unit(more, 0, Eigen::RowVectorXd::Ones(5), 1e-15);
  add_unit(more, 1, Eigen::RowVectorXd::Ones(6), -1e-16);
  const DeepForm tidy = without_needless_units(more, x);
  EXPECT_EQ(tidy.widths(), truth.widths());
  EXPECT_LT(apart(tidy, truth, x), kRounding);
  // A weight of 1e-9 is one.
  add_unit(more, 0, Eigen::RowVectorXd::LinSpaced(5, -1, 1), 1e-9);
  EXPECT_EQ(without_needless_units(more, x).widths().front(), 5);
}

TEST(TidyNetwork, UnitsOnOnePlaneBecomeOne) {
  const DeepForm truth = to_plain_form(planted_deep(4, {4, 3}, 2, 5));
  const RowMatrix x = queries(300, 4, 2);
  DeepForm more = truth;
  add_unit(more, 0, 2.5 * truth.V[0].row(1), 0.7);
  const DeepForm tidy = without_needless_units(more, x);
  EXPECT_EQ(tidy.widths(), truth.widths());
  EXPECT_LT(apart(tidy, more, x), kRounding);
}

// max(z, 0) and max(-z, 0) are |z| and z, of which the second passes the layer by.
TEST(TidyNetwork, SkipTermsBecomeAUnitThatFacesAway) {
  for (const std::size_t l : {0u, 1u}) {
    DeepForm truth = to_plain_form(planted_deep(5, {4, 3}, 2, 7));
    add_unit(truth, l, -truth.V[l].row(2), 0.8);
    const RowMatrix x = queries(400, 5, 3);
    // Without the unit that faces away, its part of the others' skip terms.
    Network network = to_network(truth);
    DeepForm sign_free = to_sign_free_form(network);
    // |q| of both units are one column.
    const Index k = sign_free.V[l].rows();
    Index at = 0;
    for (std::size_t u = l + 1; u <= sign_free.depth(); ++u) {
      if (u < sign_free.depth()) {
        sign_free.V[u].col(at + 2) += sign_free.V[u].col(at + k - 1);
        at += sign_free.V[u].rows();
      } else {
        sign_free.C.row(at + 2) += sign_free.C.row(at + k - 1);
      }
    }
    std::vector<Index> kept;
    for (Index i = 0; i + 1 < k; ++i) kept.push_back(i);
    sign_free = with_units(sign_free, l, kept);
    ASSERT_LT(apart(sign_free, truth, x), kRounding);
    const std::optional<DeepForm> plain = without_skip_terms(sign_free, x);
    ASSERT_TRUE(plain.has_value()) << l;
    EXPECT_TRUE(plain->plain);
    EXPECT_EQ(plain->widths(), truth.widths());
    EXPECT_LT(apart(*plain, truth, x), 1e-8) << l;
  }
}

TEST(TidyNetwork, SkipTermsBecomeAUnitThatIsAlwaysOn) {
  DeepForm truth = to_plain_form(planted_deep(6, {4, 3}, 2, 9));
  Eigen::RowVectorXd row = Eigen::RowVectorXd::LinSpaced(7, -1, 1);
  row(6) = 100;  // on at all queries
  add_unit(truth, 0, row, 0.6);
  const RowMatrix x = queries(400, 6, 4);
  DeepForm sign_free = to_sign_free_form(to_network(truth));
  sign_free = folded(sign_free, 0, 4, 1);
  ASSERT_LT(apart(sign_free, truth, x), 1e-9);
  const std::optional<DeepForm> plain = without_skip_terms(sign_free, x);
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->widths(), truth.widths());
  EXPECT_LT(apart(*plain, truth, x), 1e-7);
}

TEST(Drift, IsCalledSo) {
  const Network network = planted_deep(4, {4, 3}, 1, 11);
  double asked = 0;
  const OraclePtr oracle = function_oracle(
      [&](const Eigen::Ref<const RowMatrix>& x) {
        RowMatrix y = evaluate(network, RowMatrix(x));
        for (Index i = 0; i < y.rows(); ++i) y.row(i) *= 1 + 1e-6 * asked++;
        return y;
      },
      4);
  ExtractOptions options;
  options.queries = 20000;
  const ExtractResult result = extract(oracle, options);
  EXPECT_NE(result.certificate.status, Status::kCertified);
  EXPECT_NE(result.certificate.reason.find("drifts"), std::string::npos) << result.certificate.reason;
}

}  // namespace
}  // namespace exhume::tidy_network_test
