#include "extract/form_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived, but where said.
struct FormFitLimits {
  double last_digits =
      1e-31;  // derived: relative mean square of rounding in double precision, (2^-52)^2, rounded up
  double damping = 1e-6;
  double work = 1e12;         // operations of one polish: about two minutes of one core
  double work_on_all = 3e10;  // operations of one step on all queries
  double not_far = 6;         // in scales, of queries that are polished on
  double surprise = 1e-9;     // what a network may be off at an earlier query, over its size
};
constexpr FormFitLimits kFormFit;

}  // namespace

Scaled::Scaled(const RowMatrix& u, const RowMatrix& y) {
  const auto n = static_cast<double>(u.rows());
  middle_ = u.colwise().mean();
  width_ =
      std::max(std::sqrt((u.rowwise() - middle_).squaredNorm() / (n * static_cast<double>(u.cols()))), kTiny);
  mean_ = y.colwise().mean();
  spread_ = ((y.rowwise() - mean_).colwise().norm() / std::sqrt(n)).cwiseMax(kTiny);
}

DeepData Scaled::data(const RowMatrix& u, const RowMatrix& y) const {
  RowMatrix x = (u.rowwise() - middle_) / width_, z = y.rowwise() - mean_;
  for (Index o = 0; o < z.cols(); ++o) z.col(o) /= spread_(o);
  return {std::move(x), std::move(z)};
}

Matrix Scaled::to_scaled(Matrix rows) const {
  const Index s = middle_.size(), first = rows.cols() - 1 - s;
  rows.rightCols(1) += rows.middleCols(first, s) * middle_.transpose();
  rows.middleCols(first, s) *= width_;
  return rows;
}

Matrix Scaled::from_scaled(Matrix rows) const {
  const Index s = middle_.size(), first = rows.cols() - 1 - s;
  rows.middleCols(first, s) /= width_;
  rows.rightCols(1) -= rows.middleCols(first, s) * middle_.transpose();
  return rows;
}

DeepForm Scaled::from_scaled(DeepForm form) const {
  for (std::size_t l = 0; l < form.depth(); ++l)
    if (l == 0 || !form.plain) form.V[l] = from_scaled(std::move(form.V[l]));
  for (Index o = 0; o < form.C.cols(); ++o) form.C.col(o) *= spread_(o);
  if (!form.plain) form.C = from_scaled(Matrix(form.C.transpose())).transpose();
  form.C.bottomRows(1) += mean_;
  return form;
}

DeepForm Scaled::to_scaled(DeepForm form) const {
  for (std::size_t l = 0; l < form.depth(); ++l)
    if (l == 0 || !form.plain) form.V[l] = to_scaled(std::move(form.V[l]));
  if (form.C.size() == 0) return form;
  form.C.bottomRows(1) -= mean_;
  if (!form.plain) form.C = to_scaled(Matrix(form.C.transpose())).transpose();
  for (Index o = 0; o < form.C.cols(); ++o) form.C.col(o) /= spread_(o);
  return form;
}

int affordable_steps(const DeepForm& form, const DeepData& data, int most) {
  const auto p = static_cast<double>(form.unknowns());
  const double step = p * p * static_cast<double>(data.rows()) * static_cast<double>(data.y.cols());
  return static_cast<int>(std::clamp(kFormFit.work / std::max(step, 1.0), 1.0, static_cast<double>(most)));
}

std::optional<FormFit> fit_form(const DeepForm& start, const RowMatrix& u, const RowMatrix& y,
                                const FormFitOptions& options, const Control& control) {
  const Scaled scaled(u, y);
  const DeepData data = scaled.data(u, y);
  DeepPolishOptions polishing;
  polishing.damping = kFormFit.damping;
  polishing.enough_relative = kFormFit.last_digits;
  polishing.hope = options.hope;
  polishing.hopeful = options.enough;
  polishing.max_iterations = affordable_steps(start, data, polishing.max_iterations);
  const DeepPolished fit = polish(scaled.to_scaled(start), data, polishing, control);
  if (!(fit.relative_mse < options.enough)) return std::nullopt;
  return FormFit{scaled.from_scaled(fit.form), fit.relative_mse};
}

std::optional<FormFit> fit_form_to_all(const Space& space, const QueryEvidence& evidence,
                                       const DeepForm& start) {
  const RowMatrix &u = evidence.u, &y = evidence.y;
  const std::vector<LoggedBlock>& history = space.meter->history();
  std::vector<bool> in_sample(history.size(), false);
  for (const std::size_t i : evidence.sample_blocks) in_sample[i] = true;
  std::vector<const LoggedBlock*> blocks;
  Index all = 0;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (in_sample[i] || !space.holds(history[i].queries)) continue;
    blocks.push_back(&history[i]);
    all += history[i].queries.count();
  }
  const auto p = static_cast<double>(start.unknowns()), m = static_cast<double>(y.cols());
  const double affordable = kFormFit.work_on_all / (m * p * p + 1) - static_cast<double>(u.rows());
  const Index each =
      std::max<Index>(1, static_cast<Index>(std::ceil(static_cast<double>(all) / std::max(affordable, 1.0))));
  const double farthest =
      kFormFit.not_far * std::sqrt(static_cast<double>(space.dimensions())) * evidence.scale;
  RowMatrix all_u(u.rows() + all, u.cols()), all_y(all_u.rows(), y.cols());
  all_u.topRows(u.rows()) = u;
  all_y.topRows(u.rows()) = y;
  Index at = 0, n = u.rows();
  for (const LoggedBlock* block : blocks) {
    for (Index i = 0; i < block->queries.count(); ++i, ++at) {
      const double far = (block->queries.rows.row(i).transpose() - space.middle()).norm();
      if (at % each != 0 || !(space.bounded() || far <= farthest)) continue;
      all_u.row(n) = block->queries.rows.row(i);
      all_y.row(n++) = block->answers.row(i);
    }
  }
  FormFitOptions options;
  options.hope = 0;
  return fit_form(start, all_u.topRows(n), all_y.topRows(n), options, space.meter->control());
}

double fit_outputs(DeepForm& form, const RowMatrix& u, const RowMatrix& y, const Control& control) {
  const Scaled scaled(u, y);
  DeepForm inside = scaled.to_scaled(form);
  normalise(inside);
  const double left = fit_linear_part(inside, scaled.data(u, y), control);
  form = scaled.from_scaled(inside);
  return left;
}

WrongAnswers wrong_answers(const Space& space, const DeepForm& form, double spread, double scale,
                           Index most) {
  struct Wrong {
    double far;
    const LoggedBlock* block;
    Index row;
  };
  std::vector<Wrong> all;
  for (const LoggedBlock& block : space.meter->history()) {
    if (!space.holds(block.queries)) continue;
    const RowMatrix left = block.answers - evaluate(form, block.queries.rows);
    for (Index i = 0; i < left.rows(); ++i) {
      const double size = std::max(spread, block.answers.row(i).cwiseAbs().maxCoeff());
      const double far = 1 + (block.queries.rows.row(i).transpose() - space.middle()).norm() / scale;
      if (left.row(i).cwiseAbs().maxCoeff() > kFormFit.surprise * size * far) all.push_back({far, &block, i});
    }
  }
  // The nearest: far out answers are large, and would outweigh all others in a fit.
  std::stable_sort(all.begin(), all.end(), [](const Wrong& a, const Wrong& b) { return a.far < b.far; });
  all.resize(std::min(all.size(), static_cast<std::size_t>(most)));
  const auto n = static_cast<Index>(all.size());
  WrongAnswers out{RowMatrix(n, space.dimensions()), RowMatrix(n, space.meter->outputs())};
  for (Index i = 0; i < n; ++i) {
    const Wrong& each = all[static_cast<std::size_t>(i)];
    out.u.row(i) = each.block->queries.rows.row(each.row);
    out.y.row(i) = each.block->answers.row(each.row);
  }
  return out;
}

RowMatrix layer_values(const Matrix& V, const RowMatrix& h) {
  RowMatrix z = h * V.leftCols(V.cols() - 1).transpose();
  z.rowwise() += V.col(V.cols() - 1).transpose();
  return z;
}

RowMatrix features_below(const DeepForm& plain, const RowMatrix& u) {
  RowMatrix h = u;
  for (std::size_t l = 0; l + 1 < plain.depth(); ++l) h = layer_values(plain.V[l], h).cwiseMax(0.0);
  return h;
}

Matrix solve_by_columns(const Matrix& F, const Matrix& y) {
  const Vector norms = F.colwise().norm().cwiseMax(kTiny).transpose();
  return norms.cwiseInverse().asDiagonal() *
         Matrix((F * norms.cwiseInverse().asDiagonal()).colPivHouseholderQr().solve(y));
}

double spread_of(const RowMatrix& y) {
  return std::sqrt((y.rowwise() - y.colwise().mean()).squaredNorm() / static_cast<double>(y.size()));
}

}  // namespace exhume
