#include "extract/deep_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "extract/scaled.h"

namespace exhume {
namespace {

constexpr double kLastDigits = 1e-31;
constexpr double kDamping = 1e-6;
constexpr double kPolishWork = 3e10;  // of a step on all questions
constexpr double kNotFar = 6;         // in scales, of questions that are polished on
constexpr double kSurprise = 1e-9;    // what a network may be off at a question of before, over its size

std::optional<DeepFit> fitted(const DeepForm& start, const RowMatrix& u, const RowMatrix& y,
                              const DeepPolishOptions& options, const Control& control,
                              double enough = kOnItsWay) {
  const Scaled scaled(u, y);
  const DeepPolished fit = polish(scaled.to_scaled(start), scaled.data(u, y), options, control);
  if (!(fit.relative_mse < enough)) return std::nullopt;
  return DeepFit{scaled.from_scaled(fit.form), fit.relative_mse};
}

DeepPolishOptions to_rounding() {
  DeepPolishOptions options;
  options.damping = kDamping;
  options.enough_relative = kLastDigits;
  return options;
}

}  // namespace

std::optional<DeepFit> polished_on(const DeepForm& start, const RowMatrix& u, const RowMatrix& y, int hope,
                                   const Control& control, double enough) {
  DeepPolishOptions options = to_rounding();
  options.hope = hope;
  options.hopeful = enough;
  return fitted(start, u, y, options, control, enough);
}

std::optional<DeepFit> polished_on_all(const Space& space, const DeepForm& start, const RowMatrix& u,
                                       const RowMatrix& y, double scale, const std::string& stage,
                                       const Control& control) {
  const Index s = space.dimensions();
  std::vector<const LoggedBlock*> blocks;
  for (const LoggedBlock& block : space.meter->history())
    if (space.holds(block.questions) && block.stage != stage) blocks.push_back(&block);
  const auto p = static_cast<double>(start.unknowns()), m = static_cast<double>(y.cols());
  const double affordable = kPolishWork / (m * p * p + 1) - static_cast<double>(u.rows());
  Index all = 0;
  for (const LoggedBlock* block : blocks) all += block->questions.count();
  const Index each =
      std::max<Index>(1, static_cast<Index>(std::ceil(static_cast<double>(all) / std::max(affordable, 1.0))));
  std::vector<std::pair<const LoggedBlock*, Index>> rows;
  Index at = 0;
  for (const LoggedBlock* block : blocks) {
    for (Index i = 0; i < block->questions.count(); ++i, ++at) {
      const double far = (block->questions.rows.row(i).transpose() - space.middle()).norm();
      if (at % each == 0 && (space.bounded() || far <= kNotFar * std::sqrt(static_cast<double>(s)) * scale))
        rows.emplace_back(block, i);
    }
  }
  const Index given = u.rows(), n = given + static_cast<Index>(rows.size());
  RowMatrix all_u(n, s), all_y(n, y.cols());
  all_u.topRows(given) = u;
  all_y.topRows(given) = y;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all_u.row(given + static_cast<Index>(i)) = rows[i].first->questions.rows.row(rows[i].second);
    all_y.row(given + static_cast<Index>(i)) = rows[i].first->answers.row(rows[i].second);
  }
  return fitted(start, all_u, all_y, to_rounding(), control);
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
    if (!space.holds(block.questions) || block.stage == "probe") continue;
    const RowMatrix left = block.answers - evaluate(form, block.questions.rows);
    for (Index i = 0; i < left.rows(); ++i) {
      const double size = std::max(spread, block.answers.row(i).cwiseAbs().maxCoeff());
      const double far = 1 + (block.questions.rows.row(i).transpose() - space.middle()).norm() / scale;
      if (left.row(i).cwiseAbs().maxCoeff() > kSurprise * size * far) all.push_back({far, &block, i});
    }
  }
  // The nearest: far out answers are large, and would outweigh all others in a fit.
  std::stable_sort(all.begin(), all.end(), [](const Wrong& a, const Wrong& b) { return a.far < b.far; });
  all.resize(std::min(all.size(), static_cast<std::size_t>(most)));
  const auto n = static_cast<Index>(all.size());
  WrongAnswers out{RowMatrix(n, space.dimensions()), RowMatrix(n, space.meter->outputs())};
  for (Index i = 0; i < n; ++i) {
    const Wrong& each = all[static_cast<std::size_t>(i)];
    out.u.row(i) = each.block->questions.rows.row(each.row);
    out.y.row(i) = each.block->answers.row(each.row);
  }
  return out;
}

RowMatrix features_below(const DeepForm& plain, const RowMatrix& u) {
  RowMatrix h = u;
  for (std::size_t l = 0; l + 1 < plain.depth(); ++l) {
    const Matrix& V = plain.V[l];
    RowMatrix z = h * V.leftCols(V.cols() - 1).transpose();
    z.rowwise() += V.col(V.cols() - 1).transpose();
    h = z.cwiseMax(0.0);
  }
  return h;
}

double spread_of(const RowMatrix& y) {
  return std::sqrt((y.rowwise() - y.colwise().mean()).squaredNorm() / static_cast<double>(y.size()));
}

}  // namespace exhume
