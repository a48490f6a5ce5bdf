// Students of one hidden layer: units beside all of the network's, whatever the inputs; and searches that are
// ended before their time.
#include "fit/student_units.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/ended.h"
#include "base/random.h"
#include "exhume/recover.h"
#include "fit/smooth_search.h"
#include "planted_data.h"

namespace exhume::student_units_test {
namespace {

// Rows of a planted network, inputs uniform with variance 1.
struct Uniform {
  Uniform(Index d, Index k, Index m, Index n, std::uint64_t seed)
      : network(plant({.inputs = d, .hidden = k, .outputs = m, .seed = seed})), x(n, d) {
    Stream(seed, "uniform inputs").fill_uniform(0, x);
    x = (std::sqrt(12.0) * (x.array() - 0.5)).matrix().eval();
    y = evaluate(network, x);
  }
  [[nodiscard]] SamplePtr samples() const { return memory_samples(x, y); }

  Network network;
  RowMatrix x, y;
};

// For every unit of the network, the largest |cosine| of (w, b) with a unit of V.
Vector nearest(const Network& network, const Matrix& V) {
  Matrix truth(network.hidden(), V.cols());
  truth << network.W(), network.b();
  return (truth.rowwise().normalized() * V.rowwise().normalized().transpose())
      .cwiseAbs()
      .rowwise()
      .maxCoeff();
}

TEST(StudentUnits, OneBesideEveryUnitOfTheNetwork) {
  const Uniform rows(8, 24, 2, 12'000, 5);
  StudentUnitsOptions options;
  const StudentUnits found = student_units(*rows.samples(), options, {});
  EXPECT_TRUE(found.trained);
  EXPECT_LT(found.V.rows(), 48);
  EXPECT_GT(nearest(rows.network, found.V).minCoeff(), 0.99);
}

TEST(StudentUnits, AreTheSameOnAnyNumberOfThreads) {
  const Uniform rows(5, 6, 1, 3'000, 6);
  StudentUnitsOptions options;
  options.steps = 400;
  options.first_width = 8;
  options.most_width = 16;
  Control two;
  two.threads = 2;
  EXPECT_EQ(student_units(*rows.samples(), options, {}).V, student_units(*rows.samples(), options, two).V);
}

TEST(Student, LearnsWithUnitsOfAnotherKind) {
  RowMatrix x(6'000, 3);
  Stream(1, "inputs").fill_normal(0, x);
  const Matrix W = Stream(2, "weights").normal_matrix(4, 3);
  const RowMatrix y = (x * W.transpose()).array().tanh().rowwise().sum().matrix();
  const StudentData data(*memory_samples(x, y), 0, {});
  using Given = StudentUnit::Given;
  using Values = StudentUnit::Values;
  const StudentUnit tanh_unit{[](const Given& q, Values p) { p = q.array().tanh(); },
                              [](const Given& q, Values g) { g.array() *= 1 - q.array().tanh().square(); },
                              std::nullopt};
  StudentOptions options;
  options.steps = 1500;
  options.unit = &tanh_unit;
  options.hard_rows = false;
  EXPECT_LT(train(random_student(3, 1, {12}, 1), data, options, {}).relative_mse, 1e-4);
}

// ReLUs that were trained on a smooth function: a few smooth units are closer to them than as few ReLUs.
TEST(StudentUnits, FindReLUsThatLookSmooth) {
  const Index d = 8, n = 20'000;
  RowMatrix x(n, d);
  Stream(3, "inputs").fill_uniform(0, x);
  x = (std::sqrt(12.0) * (x.array() - 0.5)).matrix().eval();
  const Matrix slopes = Stream(4, "slopes").normal_matrix(d, 3) / std::sqrt(static_cast<double>(d));
  const RowMatrix z = x * slopes;
  const RowMatrix smooth = ((2 * z.col(0)).array().sin() + z.col(1).array() * z.col(2).array()).matrix();
  StudentOptions training;
  training.steps = 3000;
  training.hard_rows = false;
  const StudentData data(*memory_samples(x, smooth), 0, {});
  const Form form = train(random_student(d, 1, {24}, 1), data, training, {}).form;
  const RowMatrix q = x * form.V[0].leftCols(d).transpose() + form.V[0].col(d).transpose().replicate(n, 1);
  const RowMatrix y = q.cwiseAbs() * form.C.topRows(24);
  const SamplePtr samples = memory_samples(x, y);
  const SmoothScreen seen = screen_units(*samples, 1, {});
  EXPECT_FALSE(seen.clearly_smooth()) << seen.smooth << " " << seen.piecewise;
  const Result result = recover(samples, {});
  EXPECT_EQ(result.certificate.route, "any_inputs");
  EXPECT_LT(result.errors.heldout_relative_mse, 1e-24);
}

// Of 32 units a growth of one by one ended at half of them.
TEST(StudentUnits, AreAStartForManyUnitsAndUniformInputs) {
  const Uniform rows(10, 32, 1, 20'000, 7);
  RecoverOptions options;
  options.route = "any_inputs";
  const Result result = recover(rows.samples(), options);
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_EQ(result.network.hidden(), 32);
}

TEST(EndedSearch, ReturnsWhatThereIsAndSaysSo) {
  const Uniform rows(6, 9, 1, 4'000, 8);
  Control control;
  const Control copy = control;
  end_searches(copy);
  EXPECT_TRUE(searches_ended(control));
  EXPECT_TRUE(control.within_work(1e9).out_of_time());
  control.spend(-1e300);
  EXPECT_TRUE(control.out_of_time());
  for (const Index layers : {Index{1}, RecoverOptions::kAnyDepth}) {
    RecoverOptions options;
    options.layers = layers;
    const Result result = recover(rows.samples(), options, control);
    EXPECT_EQ(result.certificate.status, Status::kUncertified);
    EXPECT_NE(result.certificate.reason.find("interrupted after"), std::string::npos)
        << result.certificate.reason;
  }
}

}  // namespace
}  // namespace exhume::student_units_test
