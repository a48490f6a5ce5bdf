#include "fit/student_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/blas.h"
#include "fit/residuals.h"
#include "fit/sums.h"

namespace exhume {
namespace {

constexpr Index kStudentRows = 300'000;  // that a student sees, at most
// A width that leaves more than this share of what half of it left is no gain: noise, or a function of
// another kind.
constexpr double kWiderLeaves = 0.8;
constexpr double kEquationsPerUnknown = 2;  // of the widest student
// What may be left, times what the student left, when units are left out; and the share of the variance that
// a polish mends in any case.
constexpr double kLeaveOut = 30, kMended = 1e-8;
// Rows on which units are weighed, per feature.
constexpr Index kWeighRows = 20;

// The form with `count` more units, drawn at random, that have no part in it yet.
Form widened(const Form& form, Index count, std::uint64_t seed) {
  const Form fresh = random_student(form.inputs, form.C.cols(), {count}, seed);
  Form out = form;
  const Index k = form.units();
  out.V[0].resize(k + count, form.inputs + 1);
  out.V[0] << form.V[0], fresh.V[0];
  out.C.resize(form.C.rows() + count, form.C.cols());
  out.C << form.C.topRows(k), Matrix::Zero(count, form.C.cols()), form.C.bottomRows(form.inputs + 1);
  return out;
}

// The units without which least is left, by leaving out one after the other: the rest of C follows.
Matrix needed_units(const Form& form, const SampleSource& samples, double most, const Control& control) {
  const Index k = form.units(), q = form.features();
  const Index wanted = std::max<Index>(kWeighRows * q, 4096);
  const SamplePtr rows = spread_subset(samples, std::min(wanted, samples.rows()));
  const LinearSums sums = linear_sums(form, *rows, kBlockRows, control);
  Matrix inverse = inverse_scaled(sums.FF);
  Matrix C = inverse * sums.FY;
  Form now = form;
  now.C = C;
  double squares = residual_sums(now, *rows, kBlockRows, control).squares.sum();
  const double limit = most * static_cast<double>(rows->rows() * rows->outputs());
  std::vector<bool> out(static_cast<std::size_t>(k), false);
  for (Index left = k; left > 1; --left) {
    Index weakest = -1;
    double least = 0;
    for (Index j = 0; j < k; ++j) {
      if (out[static_cast<std::size_t>(j)]) continue;
      const double worth = C.row(j).squaredNorm() / std::max(inverse(j, j), kTiny);
      if (weakest >= 0 && worth >= least) continue;
      weakest = j;
      least = worth;
    }
    squares += least;
    if (!(squares <= limit)) break;
    out[static_cast<std::size_t>(weakest)] = true;
    const double pivot = std::max(inverse(weakest, weakest), kTiny);
    const Vector column = inverse.col(weakest) / pivot;
    const Eigen::RowVectorXd weights = C.row(weakest);
    C.noalias() -= column * weights;
    inverse.noalias() -= column * (pivot * column).transpose();
  }
  std::vector<Index> kept;
  for (Index j = 0; j < k; ++j)
    if (!out[static_cast<std::size_t>(j)]) kept.push_back(j);
  return form.V[0](kept, Eigen::all);
}

}  // namespace

StudentUnits student_units(const SampleSource& standard, const StudentUnitsOptions& options,
                           const Control& control) {
  const SingleThreadedBlas single;
  const Index d = standard.inputs(), m = standard.outputs();
  const SamplePtr rows =
      standard.rows() > kStudentRows ? spread_subset(standard, kStudentRows) : load(standard);
  StudentData data(*rows, options.seed, control);
  // Outputs of mean square 1, as Adam's rate assumes.
  const double mean_square =
      std::max(data.y.cast<double>().squaredNorm() / static_cast<double>(data.y.size()), kTiny);
  data.y /= static_cast<float>(std::sqrt(mean_square));
  const auto fits = [&](Index width) {
    return kEquationsPerUnknown * static_cast<double>(search_unknowns(d, width, m)) <=
           static_cast<double>(data.y.size());
  };
  StudentUnits out;
  Index width = options.hidden ? *options.hidden + *options.hidden / 4 + 4 : options.first_width;
  while (width > 2 && !fits(width)) --width;
  StudentOptions training;
  training.steps = options.steps;
  training.hard_rows = false;
  training.seed = options.seed;
  Form form = random_student(d, m, {width}, options.seed);
  double flops = 0;
  while (true) {
    const Index count = form.units();
    control.report(fmt::format("student of {} units", count), 0);
    const Student student = train(form, data, training, control);
    form = student.form;
    const double before = out.relative_mse;
    out.relative_mse = student.relative_mse;
    out.width = count;
    control.best(out.relative_mse * mean_square, count);
    flops += 6 * static_cast<double>(training.steps * training.batch * count * (d + m));
    if (out.relative_mse <= options.enough || !student.in_time || control.out_of_time()) break;
    if (out.relative_mse > kWiderLeaves * before) break;
    if (2 * count > options.most_width || !fits(2 * count) || 3 * flops > options.most_flops) break;
    ++training.seed;
    form = widened(form, count, training.seed);
  }
  const double most = std::max(kLeaveOut * out.relative_mse, kMended) * mean_square;
  form.C *= std::sqrt(mean_square);
  out.V = needed_units(form, *rows, most, control);
  return out;
}

}  // namespace exhume
