#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "fit/deep/finish.h"
#include "fit/deep/plain.h"
#include "fit/deep/rounding.h"
#include "fit/deep/search.h"
#include "fit/deep/trials.h"
#include "fit/signs.h"
#include "fit/student.h"
#include "planted_deep_rows.h"
#include "random_deep.h"

namespace exhume::deep_rounding_test {
namespace {

constexpr double kExact = 1e-19;

Form shaken(Form form, double by, std::uint64_t seed) {
  normalise(form);
  for (Matrix& v : form.V) v += by * Stream(seed, "shake").normal_matrix(v.rows(), v.cols());
  return form;
}

// The bias of a unit, moved until it acts on so many rows.
void acts_on(Planted& planted, std::size_t l, Index unit, Index count) {
  Form form = to_plain_form(planted.network);
  const FormRows seen(form, planted.x);
  const auto column = seen.Q(l).col(unit);
  std::vector<double> z(column.begin(), column.end());
  std::sort(z.begin(), z.end(), std::greater<>());
  const auto at = static_cast<std::size_t>(count);
  planted.network.layers[l].b(unit) -= (z[at - 1] + z[at]) / 2;
  planted.y = evaluate(planted.network, planted.x);
}

TEST(DeepMostRows, RowsWithAnotherAnswerAreLeftOver) {
  Planted planted = lively({5, 4, 3, 1}, 6000, 41);
  for (Index i : {7, 1234, 5999}) planted.y(i, 0) += 0.5;
  const Form start = shaken(to_sign_free_form(planted.network), 1e-3, 42);
  const MostRows most = polish_most(start, planted.data(), 12, kExact, 20, {});
  EXPECT_TRUE(most.exact);
  EXPECT_EQ(most.left, (std::vector<Index>{7, 1234, 5999}));
  EXPECT_EQ(not_reproduced(most.fit.form, planted.data(), kExact, {}), most.left);
}

TEST(DeepMostRows, NoneWhereHalfOfThemDisagree) {
  Planted planted = lively({5, 4, 3, 1}, 3000, 43);
  planted.y.topRows(1500).array() += Stream(44, "noise").normal_matrix(1500, 1).array();
  const Form start = shaken(to_sign_free_form(planted.network), 1e-3, 45);
  const MostRows most = polish_most(start, planted.data(), 12, kExact, 6, {});
  EXPECT_FALSE(most.exact);
  EXPECT_TRUE(most.left.empty());
}

TEST(DeepMostRows, ReadsAMissingUnitOffTheRowsThatShowIt) {
  Planted planted = lively({5, 4, 3, 1}, 6000, 47);
  acts_on(planted, 1, 2, 60);
  const Form whole = to_sign_free_form(planted.network);
  const Form without = folded(whole, 1, 2, -1);
  DeepData data = planted.data();
  const std::vector<Index> left = not_reproduced(without, data, kExact, {});
  ASSERT_EQ(left.size(), 60u);
  const DeepData rows = data.take_out(left);
  std::optional<Form> more = add_missing_unit(without, 1, rows, most_off(planted.data(), kExact));
  ASSERT_TRUE(more);
  EXPECT_EQ(more->widths(), whole.widths());
  EXPECT_LT(fit_linear_part(*more, planted.data(), {}), kExact);
  // Fewer rows than weights show nothing.
  const DeepData few(rows.x.topRows(4), rows.y.topRows(4));
  EXPECT_FALSE(add_missing_unit(without, 1, few, 1e-8));
}

TEST(DeepMostRows, ReadsAMissingUnitBelowTheLastLayer) {
  Planted planted = lively({5, 4, 4, 3, 2}, 12000, 48);
  acts_on(planted, 1, 2, 400);
  const Form whole = to_sign_free_form(planted.network);
  const Form without = folded(whole, 1, 2, -1);
  DeepData data = planted.data();
  const std::vector<Index> left = not_reproduced(without, data, kExact, {});
  ASSERT_GT(left.size(), 100u);
  const std::optional<Form> more =
      add_missing_unit(without, 1, data.take_out(left), most_off(planted.data(), kExact));
  ASSERT_TRUE(more);
  // Read off the rows on which all units above are on the same side: there it is the unit, whatever weights
  // are open.
  const RowMatrix x = rows_of(planted.data(), left).x;
  const Vector q = FormRows(whole, x).Q(1).col(2).normalized();
  const Vector found = FormRows(*more, x).Q(1).rightCols(1).normalized();
  EXPECT_GT(std::abs(q.dot(found)), 1 - 1e-9);
}

TEST(DeepToRounding, AWeightThatFewRowsShow) {
  // Rows that only one weight keeps from being reproduced: no unit is missing.
  const Planted planted = lively({5, 4, 3, 1}, 6000, 57);
  Network other = planted.network;
  other.layers[1].W(0, 1) += 0.1;
  const Form open = to_sign_free_form(other);
  DeepData data = planted.data();
  const std::vector<Index> off = not_reproduced(open, data, kExact, {});
  ASSERT_GT(off.size(), 40u);
  // All but 12 of those rows are not there.
  std::vector<Index> gone(off.begin() + 12, off.end());
  static_cast<void>(data.take_out(gone));
  const std::vector<Index> left = not_reproduced(open, data, kExact, {});
  ASSERT_EQ(left.size(), 12u);
  const std::optional<DeepFound> found = finish_on_most(open, left, data, {kExact, true}, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->left, 0);
  EXPECT_LT(relative_error(found->form, data, {}), kExact);
}

TEST(DeepMostRows, UnitsThatAHandfulOfRowsSeeAreFolded) {
  Planted planted = lively({5, 4, 3, 1}, 6000, 53);
  acts_on(planted, 1, 0, 4);
  Form form = to_sign_free_form(planted.network);
  std::vector<Index> left;
  EXPECT_TRUE(drop_rare_units(form, planted.data(), left));
  EXPECT_EQ(form.widths(), (std::vector<Index>{4, 2}));
  EXPECT_EQ(left.size(), 4u);
  EXPECT_EQ(not_reproduced(form, planted.data(), kExact, {}), left);
  EXPECT_FALSE(drop_rare_units(form, planted.data(), left));
}

TEST(DeepToRounding, AStudentThatHasMissedAUnit) {
  Planted planted = lively({5, 4, 3, 1}, 6000, 59);
  acts_on(planted, 1, 1, 50);
  Form start = folded(to_sign_free_form(planted.network), 1, 1, -1);
  start = shaken(start, 1e-4, 60);
  DeepData data = planted.data();
  const ToRounding out = to_rounding(start, data, 12, kExact, 12, {});
  EXPECT_LT(out.fit.relative_mse, kExact);
  EXPECT_TRUE(out.left.empty());
}

// Which pair of units is tried first is decided by the last bits of sums, so that one network may come back
// on one machine and not on another: those that come back are counted. Over twelve networks and two kinds of
// processor kernels 16 of 24 did, so that fewer than two of seven would be one chance in 140.
TEST(DeepToRounding, TwoMissingUnitsActAlongDirectionsOfTheirOwn) {
  int exact = 0;
  for (const std::uint64_t seed : {57, 100, 200, 300, 400, 500, 600}) {
    Planted planted = lively({5, 4, 5, 2}, 12000, seed);
    acts_on(planted, 1, 0, 65);
    acts_on(planted, 1, 3, 60);
    Form form = to_sign_free_form(planted.network);
    normalise(form);
    DeepData data = planted.data();
    const ToRounding out = to_rounding(with_units(form, 1, {1, 2, 4}), data, 12, kExact, 8, {});
    if (out.fit.relative_mse < kExact && out.left.empty()) ++exact;
  }
  EXPECT_GE(exact, 2);
}

// Harder: 6 of 24 in the same measurement, so that none of twelve would be one chance in 31.
TEST(DeepToRounding, TwoMissingUnitsThatActAgainstEachOther) {
  int exact = 0;
  for (const std::uint64_t seed : {101, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100}) {
    Planted planted = lively({5, 6, 6, 1}, 6000, seed);
    planted.network.layers[2].W(0, 2) = 1;
    planted.network.layers[2].W(0, 4) = -0.5;
    acts_on(planted, 1, 2, 40);
    acts_on(planted, 1, 4,
            11);  // fewer rows than a row of V_2 has entries, more than a plain unit has weights
    Form start = folded(folded(to_sign_free_form(planted.network), 1, 4, -1), 1, 2, -1);
    start = shaken(start, 1e-5, seed + 1);
    DeepData data = planted.data();
    const ToRounding out = to_rounding(start, data, 12, kExact, 12, {});
    if (out.left.empty() && out.fit.relative_mse < kExact &&
        out.fit.form.widths() == std::vector<Index>{6, 6})
      ++exact;
  }
  EXPECT_GE(exact, 1);
}

TEST(DeepFinish, CountsRowsThatAreTooFewForAUnit) {
  Planted planted = lively({5, 4, 3, 1}, 6000, 61);
  acts_on(planted, 1, 1, 3);
  Form form = to_sign_free_form(planted.network);
  normalise(form);
  std::vector<Index> left;
  ASSERT_TRUE(drop_rare_units(form, planted.data(), left));
  DeepData data = planted.data();
  const std::optional<DeepFound> found = finish_on_most(form, left, data, {kExact, false}, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->left, 3);
  EXPECT_TRUE(found->plain);
  EXPECT_TRUE(found->exact);
  EXPECT_EQ(found->form.widths(), (std::vector<Index>{4, 2}));
}

TEST(DeepFinish, AUnitThatIsOffOnAHandfulOfRows) {
  for (const Index outputs : {1, 2}) {
    Planted planted = lively({5, 4, 5, outputs}, 6000, 63);
    acts_on(planted, 1, 1, 5996);
    Form form = to_sign_free_form(planted.network);
    normalise(form);
    std::vector<Index> left;
    ASSERT_TRUE(drop_rare_units(form, planted.data(), left));
    ASSERT_EQ(left.size(), 4U);
    // Any signs go with the rows that are reproduced.
    form.V[1].row(2) *= -1;
    DeepData data = planted.data();
    const std::optional<DeepFound> found = finish_on_most(form, left, data, {kExact, false}, {});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->left, 0);
    EXPECT_TRUE(found->plain);
    EXPECT_TRUE(found->minimal);
    EXPECT_LT(align(to_network(found->form), planted.network).worst_error, 1e-9);
  }
}

TEST(DeepTrials, ARowThatJoinsTheFitAndIsNotExplainedIsLeftOver) {
  Planted planted = lively({5, 4, 3, 1}, 6000, 62);
  const DeepSearchOptions options;
  const Control control;
  // One of those that are looked at but not fitted: the last tenth.
  planted.y(shuffled(6000, Stream(options.seed, "deep order")).back(), 0) += 0.5;
  Trials trials(*memory_samples(planted.x, planted.y), options, control);
  trials.attempt_from({to_sign_free_form(planted.network), 0, 0, true}, 2);
  EXPECT_TRUE(trials.best().exact);
  EXPECT_TRUE(trials.best().plain);
  EXPECT_EQ(trials.best().left, 1);
}

TEST(DeepSigns, OneEquationTellsTwentySigns) {
  const Matrix M = Stream(64, "M").normal_matrix(1, 20);
  const Vector s = Stream(65, "s").normal_matrix(20, 1).cwiseSign();
  const std::optional<Vector> found = signs_by_halves(M, M * s, 1e-11);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, s);
  EXPECT_FALSE(signs_by_halves(M, M * s, 1e-2));                      // two go with it
  EXPECT_FALSE(signs_by_halves(M, Vector::Constant(1, 1e3), 1e-11));  // none does
}

TEST(DeepPlain, ByRowsIsTheNetworkBehindTheForm) {
  const Planted planted = lively({5, 4, 3, 2}, 6000, 67);
  Form form = to_sign_free_form(planted.network);
  form.V[1].row(1) *= -2;
  form.C.row(1) /= 2;
  const std::optional<Form> plain = find_plain_by_rows(form, planted.data(), nullptr, 40, kExact, {});
  ASSERT_TRUE(plain);
  EXPECT_LT(align(to_network(*plain), planted.network).worst_error, 1e-9);
  // Skip terms that no network without them has.
  Form skip = form;
  skip.C.bottomRows(6) += Matrix::Ones(6, 2);
  const RowMatrix y = evaluate(skip, planted.x);
  EXPECT_FALSE(find_plain_by_rows(skip, DeepData(planted.x, y), nullptr, 40, kExact, {}));
}

TEST(DeepPlain, SignsAreToldWhereAWeightIsOpen) {
  // One output, as many equations as signs; unit 0 is off where input 2 is zero, and there alone.
  const Index k = 5;
  Network network = random_deep({k, k, 1}, 68, false);
  Layer& layer = network.layers[0];
  RowMatrix h = Stream(69, "h").normal_matrix(400, k).cwiseMax(0.0);
  for (Index j = 1; j < k; ++j)  // both signs, so that every unit is on at times and off at times
    for (Index a = 0; a < k; ++a) layer.W(j, a) = ((j + a) % 2 == 0 ? 1 : -1) * (1 + std::abs(layer.W(j, a)));
  layer.b.setConstant(0.1);
  layer.W.row(0).setConstant(0.5);
  layer.W(0, 2) = 0.7;
  layer.b(0) = -0.4;
  for (Index i = 0; i < h.rows(); ++i) {
    if (layer.W.row(0).dot(h.row(i)) + layer.b(0) >= 0) continue;
    h(i, 2) = 0;
  }
  Form form = to_sign_free_form(network);
  const Matrix before = form.V[0];
  const RowMatrix y = evaluate(form, h);
  form.V[0].row(1) *= -1;
  form.V[0](0, 2) += 0.3;
  form.C(k + 2, 0) -= 0.3 * form.C(0, 0);
  ASSERT_LT((evaluate(form, h) - y).cwiseAbs().maxCoeff(), 1e-12);
  const std::optional<OpenSigns> open = signs_with_open_weights(form, h);
  ASSERT_TRUE(open);
  EXPECT_LT((open->s.asDiagonal() * open->V - before).norm(), 1e-6);
  // Where no weight is open there is nothing to add.
  EXPECT_FALSE(signs_with_open_weights(form, RowMatrix(Stream(70, "x").normal_matrix(400, k))));
}

TEST(DeepPolish, AGivenLayerStaysAsItIs) {
  const Planted planted = lively({5, 4, 3, 1}, 4000, 71);
  Form start = to_sign_free_form(planted.network);
  normalise(start);
  const Matrix first = start.V[0];
  start.V[1] += 1e-3 * Stream(72, "shake").normal_matrix(start.V[1].rows(), start.V[1].cols());
  const Index all = start.unknowns();
  start.given = 1;
  EXPECT_EQ(start.unknowns(), all - first.size());
  const Polished end = polish(start, planted.data(), {}, {});
  EXPECT_LT(end.relative_mse, 1e-24);
  EXPECT_LT((end.form.V[0] - first).cwiseAbs().maxCoeff(), 1e-15);
}

}  // namespace
}  // namespace exhume::deep_rounding_test
