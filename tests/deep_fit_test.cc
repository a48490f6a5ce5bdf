#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "fit/deep/layers.h"
#include "fit/deep/prune.h"
#include "fit/deep/search.h"
#include "fit/errors.h"
#include "fit/polish.h"
#include "fit/signs.h"
#include "fit/student.h"
#include "model/form.h"
#include "planted_deep_rows.h"
#include "random_deep.h"

namespace exhume::deep_fit_test {
namespace {

double apart(const RowMatrix& a, const RowMatrix& b) { return (a - b).cwiseAbs().maxCoeff(); }

TEST(Form, BothFormsAreTheNetwork) {
  for (bool skips : {false, true}) {
    const Network network = random_deep({4, 6, 5, 3, 2}, 3, skips);
    const RowMatrix x = Stream(4, "x").normal_matrix(50, 4), y = evaluate(network, x);
    const Form free = to_sign_free_form(network);
    EXPECT_LT(apart(evaluate(free, x), y), 1e-12 * y.cwiseAbs().maxCoeff());
    EXPECT_LT(apart(evaluate(to_network(free), x), y), 1e-11 * y.cwiseAbs().maxCoeff());
    Form unit = free;
    normalise(unit);
    EXPECT_LT(apart(evaluate(unit, x), y), 1e-12 * y.cwiseAbs().maxCoeff());
    for (const Matrix& v : unit.V) EXPECT_LT((v.rowwise().norm().array() - 1).abs().maxCoeff(), 1e-14);
    if (skips) continue;
    const Form plain = to_plain_form(network);
    EXPECT_LT(apart(evaluate(plain, x), y), 1e-13 * y.cwiseAbs().maxCoeff());
    EXPECT_EQ(align(to_network(plain), network).worst_error, 0);
  }
}

TEST(Form, LeavesOutUnits) {
  const Form form = to_sign_free_form(random_deep({4, 6, 5, 2}, 5, false));
  const RowMatrix x = Stream(6, "x").normal_matrix(20, 4);
  for (std::size_t l = 0; l < 2; ++l) {
    // A unit that nothing stands on may go.
    Form idle = form;
    if (l == 0) idle.V[1].col(2).setZero();
    idle.C.row(l == 0 ? 5 + 2 : 2).setZero();
    const std::vector<Index> kept =
        l == 0 ? std::vector<Index>{0, 1, 3, 4, 5} : std::vector<Index>{0, 1, 3, 4};
    EXPECT_LT(apart(evaluate(with_units(idle, l, kept), x), evaluate(idle, x)), 1e-12);
  }
}

TEST(FormRows, JacobianByDifferences) {
  for (bool plain : {false, true}) {
    const Network network = random_deep({3, 4, 3, 2, 2}, 7, false);
    Form form = plain ? to_plain_form(network) : to_sign_free_form(network);
    const RowMatrix x = Stream(8, "x").normal_matrix(12, 3);
    const Matrix J = FormRows(form, x).jacobian(form.C.col(1));
    Index at = 0;
    for (Matrix& v : form.V) {
      for (Index j = 0; j < v.rows(); ++j) {
        for (Index c = 0; c < v.cols(); ++c, ++at) {
          constexpr double kStep = 1e-6;
          const double was = v(j, c);
          v(j, c) = was + kStep;
          const Vector up = evaluate(form, x).col(1);
          v(j, c) = was - kStep;
          const Vector down = evaluate(form, x).col(1);
          v(j, c) = was;
          EXPECT_LT(((up - down) / (2 * kStep) - J.col(at)).cwiseAbs().maxCoeff(),
                    1e-6 * (1 + J.col(at).norm()));
        }
      }
    }
  }
}

TEST(DeepPolish, EndsAtTheLastDigitFromNearby) {
  const Planted planted({6, 6, 5, 2}, 4000, 11);
  for (bool plain : {false, true}) {
    Form start = plain ? to_plain_form(planted.network) : to_sign_free_form(planted.network);
    normalise(start);
    for (Matrix& v : start.V) v += 1e-3 * Stream(12, "shake").normal_matrix(v.rows(), v.cols());
    DeepPolishOptions options;
    options.enough_relative = 1e-30;
    const Polished end = polish(start, planted.data(), options, {});
    EXPECT_LT(end.relative_mse, 1e-27);
    Control two;
    two.threads = 2;
    const Polished again = polish(start, planted.data(), options, two);
    EXPECT_EQ(again.form.C, end.form.C);  // to the last bit, whatever the threads
    EXPECT_EQ(again.form.V, end.form.V);
  }
}

TEST(DeepStudent, IsTheSameOnAnyNumberOfThreads) {
  const Planted planted({5, 4, 4, 1}, 3000, 13);
  const SamplePtr samples = memory_samples(planted.x, planted.y);
  StudentOptions options;
  options.steps = 300;
  options.batch = 1024;
  std::vector<Form> ends;
  for (int threads : {1, 2, 4}) {
    Control control;
    control.threads = threads;
    const StudentData data(*samples, 1, control);
    const Student student = train(random_student(5, 1, {12, 12}, 2), data, options, control);
    EXPECT_LT(student.relative_mse, 0.2);
    ends.push_back(student.form);
  }
  for (const Form& end : ends) {
    EXPECT_EQ(end.C, ends[0].C);
    EXPECT_EQ(end.V, ends[0].V);
  }
}

TEST(DeepSigns, ThoseOfAPlainNetworkAndOfNoOther) {
  const Network network = Planted({6, 7, 5, 4, 2}, 10, 17).network;
  Form form = to_sign_free_form(network);
  // A unit at another scale and sign.
  form.V[1].row(2) *= -3;
  form.V[2].col(2) /= 3;
  form.C.row(4 + 2) /= 3;
  normalise(form);
  const DeepSigns signs = find_signs(form);
  ASSERT_TRUE(signs.plain);
  EXPECT_LT(align(to_network(signs.form), network).worst_error, 1e-11);
  for (const LayerSigns& layer : signs.layers) EXPECT_LT(layer.off, 1e-10);
  // The same function with a unit too many: one more direction in the first layer, taken back above.
  Form more = form;
  more.V[0].conservativeResize(8, Eigen::NoChange);
  more.V[0].row(7) = Stream(18, "more").normal_matrix(1, 7).normalized();
  Matrix wider(5, more.V[1].cols() + 1);
  wider << more.V[1].leftCols(7), Vector::Constant(5, 0.1), more.V[1].rightCols(more.V[1].cols() - 7);
  more.V[1] = wider;
  Matrix third(4, form.V[2].cols() + 1);
  third << form.V[2].leftCols(5 + 7), Vector::Zero(4), form.V[2].rightCols(7);
  more.V[2] = third;
  EXPECT_FALSE(find_signs(more).plain);
  // Skip terms that no signs explain.
  Form skip = form;
  skip.C.bottomRows(4) += Matrix::Ones(4, 2);
  EXPECT_FALSE(find_signs(skip).plain);
}

TEST(DeepPrune, FindsTheLeastNetwork) {
  const Planted planted = lively({5, 4, 3, 2}, 6000, 22);
  Form wide = to_sign_free_form(planted.network);
  normalise(wide);
  // Doubled and idle units.
  Form more = wide;
  more.V[0].conservativeResize(6, Eigen::NoChange);
  more.V[0].row(4) = wide.V[0].row(1);
  more.V[0].row(5) = Stream(20, "idle").normal_matrix(1, 6).normalized();
  Matrix second(5, wide.V[1].cols() + 2);
  second.topRows(3) << wide.V[1].leftCols(4), Matrix::Zero(3, 2), wide.V[1].rightCols(6);
  second.bottomRows(2) = Stream(21, "idle").normal_matrix(2, second.cols());
  more.V[1] = second;
  DeepData data = planted.data();
  Polished start{more, 0, 0, true};
  start.relative_mse = fit_linear_part(start.form, data, {});
  ASSERT_LT(start.relative_mse, 1e-20);
  const Pruned pruned = prune(start, data, {}, {});
  EXPECT_TRUE(pruned.minimal);
  EXPECT_EQ(pruned.fit.form.widths(), (std::vector<Index>{4, 3}));
  EXPECT_LT(pruned.fit.relative_mse, 1e-19);
}

TEST(DeepPrune, AUnitOfTheLastLayerIsWorthWhatItsRemovalLeaves) {
  const Planted planted = lively({5, 4, 5, 2}, 3000, 24);
  for (Form form : {to_sign_free_form(planted.network), to_plain_form(planted.network)}) {
    normalise(form);
    const DeepData data = planted.data();
    fit_linear_part(form, data, {});
    const Vector worth = unit_worth(form, 1, data, {});
    for (Index j = 0; j < 5; ++j) {
      std::vector<Index> others{0, 1, 2, 3, 4};
      others.erase(others.begin() + j);
      Form fewer = with_units(form, 1, others);
      const double left = fit_linear_part(fewer, data, {});
      EXPECT_GT(left, 1e-6);
      EXPECT_NEAR(worth(j) / left, 1, 1e-6);
    }
  }
}

TEST(DeepPeel, FindsTheLayerAboveAKnownOne) {
  const Planted planted = lively({6, 6, 5, 1}, 8000, 23);
  Form lower = to_sign_free_form(planted.network);
  lower.V.pop_back();
  lower.V[0].row(1) *= -2;
  lower.V[0].row(4) *= 0.3;
  normalise(lower);
  const Polished rough = peel(lower, 9, planted.data(), 1, {});
  EXPECT_EQ(rough.form.widths(), (std::vector<Index>{6, 9}));
  EXPECT_LT((rough.form.V[0] - lower.V[0]).norm(), 1e-14);
  EXPECT_LT(rough.relative_mse, 1e-4);
  DeepSearchOptions options;
  options.first_layer = lower.V[0];
  const DeepFound found = deep_search(*memory_samples(planted.x, planted.y), options, Control().within(60));
  EXPECT_TRUE(found.exact);
  EXPECT_TRUE(found.plain);
  EXPECT_EQ(found.left, 0);
  EXPECT_EQ(found.form.widths(), (std::vector<Index>{6, 5}));
  EXPECT_LT(align(to_network(found.form), planted.network).worst_error, 1e-9);
}

TEST(DeepStudent, HeldUnitsStayAsTheyStart) {
  const Planted planted({5, 4, 4, 1}, 3000, 14);
  StudentOptions options;
  options.steps = 100;
  const StudentData data(*memory_samples(planted.x, planted.y), 1, {});
  const Form start = random_student(5, 1, {6, 6}, 3);
  const auto single = [](const Matrix& m) { return Matrix(m.cast<float>().cast<double>()); };
  for (const std::vector<Index>& held : {std::vector<Index>{6}, {4, 2}, {6, 5}}) {
    options.held = held;
    const Form end = train(start, data, options, {}).form;
    for (std::size_t l = 0; l < 2; ++l) {
      const Index units = l < held.size() ? held[l] : 0;
      EXPECT_EQ(end.V[l].topRows(units), single(start.V[l].topRows(units)));
      if (units < 6) {
        EXPECT_GT((end.V[l] - single(start.V[l])).bottomRows(6 - units).norm(), 1e-3);
      }
    }
  }
}

TEST(DeepSearch, ThreeHiddenLayersOneAfterTheOther) {
  const Planted planted = lively({4, 4, 3, 3, 2}, 20000, 32);
  DeepSearchOptions options;
  options.depth = 3;
  const DeepFound found = deep_search(*memory_samples(planted.x, planted.y), options, Control().within(900));
  EXPECT_TRUE(found.exact);
  EXPECT_EQ(found.left, 0);
  const RowMatrix x = Stream(33, "fresh").normal_matrix(2000, 4);
  const RowMatrix y = evaluate(planted.network, x);
  EXPECT_LT((evaluate(found.form, x) - y).squaredNorm(), 1e-20 * y.squaredNorm());
}

TEST(DeepSearch, AWrongFirstLayerLeadsToNothing) {
  const Planted planted({5, 4, 3, 1}, 3000, 37);
  DeepSearchOptions options;
  options.first_layer = Stream(38, "wrong").normal_matrix(2, 6);
  const DeepFound found = deep_search(*memory_samples(planted.x, planted.y), options, Control().within(10));
  EXPECT_FALSE(found.exact);
  EXPECT_EQ(found.form.depth(), 2u);
  EXPECT_EQ(to_network(found.form).outputs(), 1);
}

TEST(DeepSigns, ALayerWithoutUnits) {
  Form form;
  form.inputs = 3;
  form.V = {Matrix(0, 4), Matrix(0, 4)};
  form.C = Matrix::Ones(4, 2);
  EXPECT_EQ(find_signs(form).form.widths(), (std::vector<Index>{0, 0}));
  DeepData data(Stream(1, "x").normal_matrix(50, 3), Stream(1, "y").normal_matrix(50, 2));
  EXPECT_LT(polish(form, data, {}, {}).relative_mse, 1);
}

TEST(DeepDetermined, SaysWhichLayerIsOpen) {
  const Planted planted({5, 4, 3, 2}, 6000, 29);
  const Determined good = how_determined(to_plain_form(planted.network), planted.data(), {});
  EXPECT_GT(good.least(), 1e-3);
  // A unit twice, sharing what stands on it: the shares are open.
  Network twice = planted.network;
  Layer &first = twice.layers[0], &second = twice.layers[1];
  first.W.conservativeResize(5, Eigen::NoChange);
  first.W.row(4) = first.W.row(0);
  first.b.conservativeResize(5);
  first.b(4) = first.b(0);
  second.W.conservativeResize(Eigen::NoChange, 5);
  second.W.col(4) = 0.3 * second.W.col(0);
  second.W.col(0) *= 0.7;
  EXPECT_LT(how_determined(to_plain_form(twice), planted.data(), {}).least(), 1e-6);
}

TEST(DeepDetermined, ARowOnTheKinkShowsNoWeight) {
  // The first unit of layer 2 is on only where the first below is off: its weight w on that one is open, up
  // to where it would switch on at a row.
  RowMatrix x = Stream(3, "x").normal_matrix(900, 2).cwiseAbs();
  for (Index i = 0; i < x.rows(); ++i) {
    if (i % 3 != 0) x(i, 0) *= -1;
    if (i % 3 != 1) x(i, 1) *= -1;
  }
  const double w = 0.1 * (1 + 1e-13) / x.col(0).maxCoeff();
  Network network;
  network.layers.resize(3);
  network.layers[0].W = Matrix::Identity(2, 2);
  network.layers[0].b = Vector::Constant(2, 1e-3);
  network.layers[1].W = (Matrix(3, 2) << w, 1, 1, 1, 1, -1).finished();
  network.layers[1].b = Eigen::Vector3d(-0.1 - 1e-3 * w, -0.7, 0.3);
  network.layers[2].W = (Matrix(1, 3) << 1, 2, 3).finished();
  network.layers[2].b = Vector::Zero(1);
  const Form form = to_plain_form(network);
  const DeepData data(x, evaluate(network, x));
  EXPECT_GT(how_determined(form, data, {}, 0).least(), 1e-6);
  EXPECT_LT(how_determined(form, data, {}).least(), 1e-6);
}

TEST(DeepSearch, RecoversASmallNetworkAndFindsItsWidths) {
  const Planted planted = lively({5, 4, 3, 2}, 8000, 31);
  DeepSearchOptions options;
  options.seed = 5;
  Control control;
  control.threads = 2;
  const DeepFound found = deep_search(*memory_samples(planted.x, planted.y), options, control.within(120));
  EXPECT_TRUE(found.exact);
  EXPECT_TRUE(found.plain);
  EXPECT_TRUE(found.minimal);
  EXPECT_EQ(found.form.widths(), (std::vector<Index>{4, 3}));
  EXPECT_LT(align(to_network(found.form), planted.network).worst_error, 1e-9);
}

}  // namespace
}  // namespace exhume::deep_fit_test
