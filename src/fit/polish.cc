#include "fit/polish.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "base/blas.h"
#include "base/in_time.h"
#include "base/remembered.h"
#include "fit/normal_sums.h"
#include "fit/polish_sums.h"

namespace exhume {
namespace {

// Sum of squares of the outputs about their means: what residuals are measured against.
double output_variation(const SampleSource& samples, Index block_rows, const Control& control) {
  struct Sums {
    Vector total, squares;
    void merge(const Sums& other) {
      total += other.total;
      squares += other.squares;
    }
  };
  const Index m = samples.outputs();
  const Sums sums = reduce_blocks(
      samples, Sums{Vector::Zero(m), Vector::Zero(m)}, control, "",
      [](Sums& to, const SampleBlock& block) {
        to.total += block.y().colwise().sum().transpose();
        to.squares += block.y().colwise().squaredNorm().transpose();
      },
      block_rows);
  const double n = static_cast<double>(std::max<Index>(samples.rows(), 1));
  return std::max((sums.squares - sums.total.cwiseAbs2() / n).sum(), kTiny);
}

// Rows a task: few, large tasks for small problems. Never depends on the number of threads.
Index task_rows(const PolishOptions& options, Index rows) {
  if (options.block_rows > 0) return options.block_rows;
  const Index tasks = rows <= 2048 ? 2 : rows <= 8192 ? 4 : (rows + 2047) / 2048;
  return std::max<Index>(128, (rows + tasks - 1) / tasks);
}

// The least-squares C for model.V, refined with true residuals while that helps, at most twice. Returns the
// sum of squares that is left.
double solve_linear_part(SeparableModel& model, PolishSums& rows, const Control& control) {
  const LinearSums sums = rows.linear(model, control);
  model.C = solve_scaled(sums.FF, sums.FY);
  ResidualSums left = rows.residual(model, control);
  for (int refinement = 0; refinement < 2; ++refinement) {
    SeparableModel refined = model;
    refined.C += solve_scaled(sums.FF, left.FR);
    ResidualSums next = rows.residual(refined, control);
    const bool better = next.squares.sum() < left.squares.sum();
    const bool much = next.squares.sum() < 0.9 * left.squares.sum();
    if (!better) break;
    model.C = std::move(refined.C);
    left = std::move(next);
    if (!much) break;
  }
  return left.squares.sum();
}

// Scale is free in a positively homogeneous unit: keep w of unit norm. C follows when it is solved again.
void normalise_units(SeparableModel& model) {
  if (!model.scale_is_free()) return;
  const Index d = model.inputs();
  for (Index j = 0; j < model.units(); ++j) {
    const double size = model.V.row(j).head(d).norm();
    if (size > 1e-150) model.V.row(j) /= size;
  }
}

}  // namespace

void PolishOptions::validate() const {
  if (max_iterations < 0) {
    throw std::invalid_argument(
        fmt::format("polish: max_iterations is {}, expected at least 0", max_iterations));
  }
  if (!(damping > 0))
    throw std::invalid_argument(fmt::format("polish: damping is {}, expected above 0", damping));
  if (block_rows < 0)
    throw std::invalid_argument(fmt::format("polish: block_rows is {}, expected at least 0", block_rows));
}

double fit_linear_part(SeparableModel& model, const SampleSource& samples, const PolishOptions& options,
                       const Control& control) {
  const Index block_rows = task_rows(options, samples.rows());
  const double variation = output_variation(samples, block_rows, control);
  return solve_linear_part(model, *polish_sums(model, samples, block_rows, control), control) / variation;
}

namespace {

PolishSummary polished(const SeparableModel& start, const SampleSource& samples, const PolishOptions& options,
                       const Control& control) {
  const Index block_rows = task_rows(options, samples.rows());
  const double variation = output_variation(samples, block_rows, control);
  PolishSummary summary;
  SeparableModel& model = summary.model;
  model = start;
  normalise_units(model);
  const std::unique_ptr<PolishSums> rows = polish_sums(model, samples, block_rows, control);
  double left = solve_linear_part(model, *rows, control) / variation;
  summary.descent.push_back(left);
  double lambda = options.damping;
  int slow = 0;
  while (true) {
    if (left <= options.enough_relative) {
      summary.outcome = PolishOutcome::kExact;
      break;
    }
    if (model.units() == 0) {  // only the linear part, which is solved
      summary.outcome = PolishOutcome::kConverged;
      break;
    }
    if (summary.iterations >= options.max_iterations || control.out_of_time()) break;
    control.check();
    ++summary.iterations;
    const auto try_step = [&](const Matrix& step, const Control& strict) {
      SeparableModel candidate = model;
      candidate.V += step;
      if (!candidate.V.allFinite()) return std::make_pair(candidate, 1e300);
      normalise_units(candidate);
      const double value = solve_linear_part(candidate, *rows, strict) / variation;
      return std::make_pair(std::move(candidate), value);
    };
    bool improved = false;
    const double before = left;
    const auto attempt = [&](const PolishSteps& steps, const Control& strict) {
      for (int tries = 0; tries < 12 && !improved; ++tries) {
        auto [candidate, value] = try_step(steps.step(lambda, model), strict);
        if (value < left) {
          model = std::move(candidate);
          left = value;
          improved = true;
          lambda = std::max(lambda / (tries == 0 ? 8 : 2), 1e-14);
        } else {
          lambda = std::min(lambda * (tries == 0 ? 4 : 8), 1e8);
          if (before < 1e-26 && tries >= 2) break;  // at rounding: nothing is left to gain
        }
      }
    };
    // A step may take longer than all the time that is left: the deadline ends it, and the model stays.
    const bool in_time = finished_in_time(control, [&](const Control& strict) {
      attempt(*rows->steps(model, rows->cheaper(model, options.dense_limit), strict), strict);
    });
    if (!in_time && !improved) break;
    if (!improved) {
      summary.outcome = PolishOutcome::kConverged;
      break;
    }
    summary.descent.push_back(left);
    slow = left > before * (1 - options.least_progress) ? slow + 1 : 0;
    if (slow >= options.patience) {
      summary.outcome = PolishOutcome::kConverged;
      break;
    }
  }
  summary.relative_mse = left;
  return summary;
}

}  // namespace

PolishSummary polish(const SeparableModel& start, const SampleSource& samples, const PolishOptions& options,
                     const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  PolishSummary summary =
      remembered(control, "polish", [&] { return polished(start, samples, options, control); });
  summary.model.rectifier = start.rectifier;
  return summary;
}

}  // namespace exhume
