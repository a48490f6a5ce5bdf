#include "fit/deep/polish.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/blas.h"
#include "base/in_time.h"
#include "base/remembered.h"
#include "fit/deep/over_rows.h"
#include "fit/deep/rows.h"
#include "fit/deep/sums.h"
#include "fit/normal_sums.h"

namespace exhume {
namespace {

// C for the V_l, refined with true residuals; the sum of squares that is left, and F^T F.
struct Solved {
  double squares = 0;
  Matrix FF;
};

Solved solve(DeepForm& form, DeepSums& sums) {
  constexpr int kRefinements = 3;
  LinearPart part = sums.linear_part(form);
  form.C = solve_scaled(part.FF, part.FY);
  Residual left = sums.residual(form);
  for (int i = 0; i < kRefinements; ++i) {
    DeepForm refined = form;
    refined.C += solve_scaled(part.FF, left.FR);
    Residual next = sums.residual(refined);
    const bool much = next.squares < 0.9 * left.squares;
    if (!(next.squares < left.squares)) break;
    form.C = std::move(refined.C);
    left = std::move(next);
    if (!much) break;
  }
  return {left.squares, std::move(part.FF)};
}

DeepForm stepped(const DeepForm& form, const Vector& step) {
  DeepForm out = form;
  Index at = 0;
  for (std::size_t l = form.given; l < form.depth(); ++l) {
    Matrix& v = out.V[l];
    for (Index j = 0; j < v.rows(); ++j) {
      v.row(j) += step.segment(at, v.cols()).transpose();
      at += v.cols();
    }
  }
  normalise(out);
  return out;
}

}  // namespace

DeepPolishOptions noisy_polish() {
  DeepPolishOptions options;
  options.max_iterations = 150;
  options.enough_relative = 0;
  options.least_progress = 1e-5;
  options.patience = 2;
  return options;
}

double fit_linear_part(DeepForm& form, const DeepData& data, const Control& control) {
  return solve(form, *host_sums(data, control)).squares / data.variation;
}

double relative_error(const DeepForm& form, const DeepData& data, const Control& control) {
  return host_sums(data, control)->residual(form).squares / data.variation;
}

namespace {

DeepPolished polished(const DeepForm& start, const DeepData& data, const DeepPolishOptions& options,
                      const Control& control) {
  constexpr int kTries = 6;
  constexpr double kRaise = 6, kLeastDamping = 1e-13;
  constexpr double kHalf = 0.5;
  constexpr int kSlowSteps = 2;
  DeepPolished result{start, 0, 0, true};
  normalise(result.form);
  const std::unique_ptr<DeepSums> sums = sums_for(start, data, control);
  Solved now = solve(result.form, *sums);
  double damping = options.damping, at_hope = now.squares;
  int stalled = 0, slow = 0;
  const auto relative = [&](double squares) { return squares / data.variation; };
  const std::vector<Index> widths = start.widths();
  const int most = start.unknowns() > 0 ? options.max_iterations : 0;
  while (result.iterations < most && relative(now.squares) > options.enough_relative) {
    if (control.out_of_time()) {
      result.in_time = false;
      break;
    }
    control.report(fmt::format("polish {}, error {:.0e}", fmt::join(widths, "-"), relative(now.squares)),
                   static_cast<double>(result.iterations) / static_cast<double>(most));
    const std::unique_ptr<NormalSystem> normal = sums->normal_system(result.form, now.FF);
    bool accepted = false;
    double before = now.squares;
    for (int attempt = 0; attempt < kTries && !accepted; ++attempt) {
      if (const std::optional<Vector> step = normal->step(damping)) {
        DeepForm trial = stepped(result.form, *step);
        Solved next = solve(trial, *sums);
        if (next.squares < now.squares) {
          accepted = true;
          result.form = std::move(trial);
          now = std::move(next);
          damping = std::max(damping / kRaise, kLeastDamping);
          continue;
        }
      }
      damping *= kRaise;
    }
    if (!accepted) break;
    ++result.iterations;
    stalled = now.squares > (1 - options.least_progress) * before ? stalled + 1 : 0;
    if (stalled >= options.patience) break;
    slow = now.squares > kHalf * before ? slow + 1 : 0;
    if (slow >= kSlowSteps && relative(now.squares) > options.far) break;
    if (options.hope > 0 && result.iterations % options.hope == 0) {
      if (relative(now.squares) > options.hopeful && now.squares > 0.1 * at_hope) break;
      at_hope = now.squares;
    }
  }
  result.relative_mse = relative(now.squares);
  return result;
}

}  // namespace

DeepPolished polish(const DeepForm& start, const DeepData& data, const DeepPolishOptions& options,
                    const Control& control) {
  const SingleThreadedBlas single;
  DeepPolished result =
      remembered(control, "polish", [&] { return polished(start, data, options, control); });
  const auto p = static_cast<double>(start.unknowns());
  control.spend(p * p * static_cast<double>(data.y.size()) * (1 + result.iterations));
  return result;
}

Matrix normal_matrix(const DeepForm& form, const DeepData& data, const Control& control) {
  const SingleThreadedBlas single;
  DeepForm unit = form;
  normalise(unit);
  const std::unique_ptr<DeepSums> sums = sums_for(unit, data, control);
  const Solved solved = solve(unit, *sums);
  Matrix H = sums->normal_system(unit, solved.FF)->matrix() / static_cast<double>(data.rows());
  H.triangularView<Eigen::StrictlyUpper>() = H.transpose();
  return H;
}

Vector unit_worth(const DeepForm& form, std::size_t l, const DeepData& data, const Control& control) {
  struct Products {
    Matrix FF;
    std::vector<Matrix> K;  // of every output, q x k
    Vector squares;         // k
    void merge(const Products& other) {
      FF += other.FF;
      for (std::size_t o = 0; o < K.size(); ++o) K[o] += other.K[o];
      squares += other.squares;
    }
  };
  const Index q = form.features(), k = form.V[l].rows(), m = data.y.cols();
  const Products empty{Matrix::Zero(q, q),
                       std::vector<Matrix>(static_cast<std::size_t>(m), Matrix::Zero(q, k)), Vector::Zero(k)};
  const Products sums =
      over_rows(data.rows(), kMostTasks, empty, control, [&](Products& to, Index first, Index count) {
        const DeepRows rows(form, data.x.middleRows(first, count));
        to.FF.noalias() += rows.F().transpose() * rows.F();
        for (Index o = 0; o < m; ++o) {
          // d f / d q times q is d f / d |q| times |q|.
          const Matrix part = rows.slopes(form.C.col(o))[l].cwiseProduct(rows.Q(l));
          to.K[static_cast<std::size_t>(o)].noalias() += rows.F().transpose() * part;
          to.squares += part.colwise().squaredNorm().transpose();
        }
      });
  Vector worth = sums.squares;
  // Where |q_j| is a feature of F it goes with the unit: what leaving out one column of a least-squares fit costs.
  const DeepLayout layout(form);
  const Index at = layout.hidden[l].first;
  const bool among = at + k <= q;
  const Vector inverse = among ? Vector(solve_scaled(sums.FF, Matrix::Identity(q, q)).diagonal()) : Vector();
  for (const Matrix& K : sums.K) {
    const Matrix c = solve_scaled(sums.FF, K);
    worth -= K.cwiseProduct(c).colwise().sum().transpose();
    for (Index j = 0; j < k && among; ++j) {
      const double weight = c(at + j, j);
      worth(j) += weight * weight / std::max(inverse(at + j), kTiny);
    }
  }
  return worth.cwiseMax(0) / data.variation;
}

}  // namespace exhume
