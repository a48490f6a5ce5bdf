#include "fit/polish.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/blas.h"
#include "base/in_time.h"
#include "base/remembered.h"
#include "fit/form_sums.h"
#include "model/form_shape.h"

namespace exhume {
namespace {

// Settings of the Levenberg-Marquardt steps. One hidden layer allows larger changes of lambda than several.
struct Manner {
  int tries;                     // lambdas that are tried before a fit counts as converged
  double lower_at_once, lower;   // lambda is divided by this where the first try, or a later one, succeeds
  double raise_at_first, raise;  // and multiplied by this where the first try, or a later one, fails
  double least, most;            // bounds of lambda
  double rounding;               // relative error below which three tries are enough: nothing is left to gain
  int refinements;               // of C, at most
  bool unit_weights;  // rows are scaled so that w, not (w, b), has unit norm; C follows when it is solved
};
constexpr Manner kOneLayer{12, 8, 2, 4, 8, 1e-14, 1e8, 1e-26, 2, true};
constexpr Manner kLayers{6, 6, 6, 6, 6, 1e-13, std::numeric_limits<double>::infinity(), 0, 3, false};

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

// Rows per task: few, large tasks for small problems. Never depends on the number of threads.
Index task_rows(const PolishOptions& options, Index rows) {
  if (options.block_rows > 0) return options.block_rows;
  const Index tasks = rows <= 2048 ? 2 : rows <= 8192 ? 4 : (rows + 2047) / 2048;
  return std::max<Index>(128, (rows + tasks - 1) / tasks);
}

class Polish {
 public:
  Polish(const Manner& manner, FormSums& sums, double variation)
      : manner_(manner), sums_(sums), variation_(variation) {}

  // The sum of squares that is left, over the variation, and F^T F.
  struct Solved {
    double relative = 0;
    Matrix FF;
  };
  // The least-squares C for the V_l, refined with true residuals while that helps.
  Solved solve(Form& form, const Control& control) const {
    constexpr double kMuch = 0.9;  // of what was left, below which another refinement is worth it
    LinearSums sums = sums_.linear(form, control);
    form.C = solve_scaled(sums.FF, sums.FY);
    Residual left = sums_.residual(form, control);
    for (int i = 0; i < manner_.refinements; ++i) {
      Form refined = form;
      refined.C += solve_scaled(sums.FF, left.FR);
      Residual next = sums_.residual(refined, control);
      if (!(next.squares < left.squares)) break;
      const bool much = next.squares < kMuch * left.squares;
      form.C = std::move(refined.C);
      left = std::move(next);
      if (!much) break;
    }
    return {left.squares / variation_, std::move(sums.FF)};
  }

  void fix_scales(Form& form) const {
    if (!manner_.unit_weights) return normalise(form);
    if (!form.scale_is_free()) return;
    for (Index j = 0; j < form.units(); ++j) {
      const double size = form.V[0].row(j).head(form.inputs).norm();
      if (size > 1e-150) form.V[0].row(j) /= size;
    }
  }

  Polished run(const Form& start, const PolishOptions& options, const Control& control) const {
    constexpr int kSlowSteps = 2;
    constexpr double kHalf = 0.5, kTenth = 0.1;
    Polished out;
    out.form = start;
    fix_scales(out.form);
    Solved now = solve(out.form, control);
    out.descent.push_back(now.relative);
    double lambda = options.damping, at_hope = now.relative;
    int stalled = 0, slow = 0;
    out.outcome = PolishOutcome::kConverged;
    while (true) {
      if (now.relative <= options.enough_relative) {
        out.outcome = PolishOutcome::kExact;
        break;
      }
      if (start.unknowns() == 0) break;  // only the linear part, which is solved
      out.in_time = !control.out_of_time();
      if (out.iterations >= options.max_iterations || !out.in_time) {
        out.outcome = PolishOutcome::kExhausted;
        break;
      }
      control.check();
      if (start.depth() > 1) report(out, now.relative, options, control);
      ++out.iterations;
      const double before = now.relative;
      bool improved = false;
      // A step may take longer than all the time that is left: the deadline ends it, and the form stays.
      out.in_time = finished_in_time(
          control, [&](const Control& strict) { improved = step(out.form, now, lambda, strict); });
      if (!improved) {
        if (!out.in_time) out.outcome = PolishOutcome::kExhausted;
        break;
      }
      out.descent.push_back(now.relative);
      stalled = now.relative > before * (1 - options.least_progress) ? stalled + 1 : 0;
      if (stalled >= options.patience) break;
      slow = now.relative > kHalf * before ? slow + 1 : 0;
      if (slow >= kSlowSteps && now.relative > options.far) break;
      if (options.hope > 0 && out.iterations % options.hope == 0) {
        if (now.relative > options.hopeful && now.relative > kTenth * at_hope) break;
        at_hope = now.relative;
      }
    }
    out.relative_mse = now.relative;
    return out;
  }

 private:
  // One accepted step, or none; lambda follows.
  bool step(Form& form, Solved& now, double& lambda, const Control& control) const {
    const double before = now.relative;
    const std::unique_ptr<NormalSystem> system = sums_.normal_system(form, now.FF, control);
    for (int tries = 0; tries < manner_.tries; ++tries) {
      if (const std::optional<Vector> change = system->step(lambda); change && change->allFinite()) {
        Form trial = moved(form, *change);
        fix_scales(trial);
        Solved next = solve(trial, control);
        if (next.relative < now.relative) {
          form = std::move(trial);
          now = std::move(next);
          lambda = std::max(lambda / (tries == 0 ? manner_.lower_at_once : manner_.lower), manner_.least);
          return true;
        }
      }
      lambda = std::min(lambda * (tries == 0 ? manner_.raise_at_first : manner_.raise), manner_.most);
      if (before < manner_.rounding && tries >= 2) break;
    }
    return false;
  }

  static Form moved(const Form& form, const Vector& change) {
    Form out = form;
    Index at = 0;
    for (std::size_t l = form.given; l < form.depth(); ++l) {
      Matrix& v = out.V[l];
      for (Index j = 0; j < v.rows(); ++j, at += v.cols())
        v.row(j) += change.segment(at, v.cols()).transpose();
    }
    return out;
  }

  static void report(const Polished& now, double error, const PolishOptions& options,
                     const Control& control) {
    control.report(fmt::format("polish {}, error {:.0e}", fmt::join(now.form.widths(), "-"), error),
                   static_cast<double>(now.iterations) / static_cast<double>(options.max_iterations));
  }

  const Manner& manner_;
  FormSums& sums_;
  double variation_;
};

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

PolishOptions noisy_polish() {
  PolishOptions options = DeepPolishOptions();
  options.max_iterations = 150;
  options.enough_relative = 0;
  options.least_progress = 1e-5;
  options.patience = 2;
  return options;
}

Polished polish(const Form& start, const SampleSource& samples, const PolishOptions& options,
                const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  Polished out = remembered(
      control, "polish",
      [&] {
        const Index rows = task_rows(options, samples.rows());
        const double variation = output_variation(samples, rows, control);
        const std::unique_ptr<FormSums> sums = sums_over(start, samples, rows, options.dense_limit, control);
        return Polish(kOneLayer, *sums, variation).run(start, options, control);
      },
      [&](const Polished& made) {
        return is_whole(made.form, start.inputs, samples.outputs(), start.depth());
      });
  out.form.rectifier = start.rectifier;
  return out;
}

Polished polish(const Form& start, const DeepData& data, const PolishOptions& options,
                const Control& control) {
  const SingleThreadedBlas single;
  Polished out = remembered(
      control, "polish",
      [&] {
        const std::unique_ptr<FormSums> sums = sums_over(start, data, control);
        return Polish(kLayers, *sums, data.variation).run(start, options, control);
      },
      [&](const Polished& made) { return is_whole(made.form, start.inputs, data.y.cols(), start.depth()); });
  out.form.rectifier = start.rectifier;
  const auto p = static_cast<double>(start.unknowns());
  control.spend(p * p * static_cast<double>(data.y.size()) * (1 + out.iterations));
  return out;
}

double fit_linear_part(Form& form, const SampleSource& samples, const PolishOptions& options,
                       const Control& control) {
  const Index rows = task_rows(options, samples.rows());
  const double variation = output_variation(samples, rows, control);
  const std::unique_ptr<FormSums> sums = sums_over(form, samples, rows, options.dense_limit, control);
  return Polish(kOneLayer, *sums, variation).solve(form, control).relative;
}

double fit_linear_part(Form& form, const DeepData& data, const Control& control) {
  return Polish(kLayers, *host_sums(data), data.variation).solve(form, control).relative;
}

double relative_error(const Form& form, const DeepData& data, const Control& control) {
  return host_sums(data)->residual(form, control).squares / data.variation;
}

Matrix normal_matrix(const Form& form, const DeepData& data, const Control& control) {
  const SingleThreadedBlas single;
  Form unit = form;
  normalise(unit);
  const std::unique_ptr<FormSums> sums = sums_over(unit, data, control);
  const Matrix FF = Polish(kLayers, *sums, data.variation).solve(unit, control).FF;
  Matrix H = sums->normal_system(unit, FF, control)->matrix() / static_cast<double>(data.rows());
  H.triangularView<Eigen::StrictlyUpper>() = H.transpose();
  return H;
}

namespace {

// d f_o / d h_j of the units j of layer l of a plain form: what stands on them is the next layer alone.
Matrix slopes_by_features(const Form& form, const FormRows& rows, std::size_t l, Index o) {
  const Index k = form.units(l);
  if (l + 1 == form.depth()) return form.C.col(o).head(k).transpose().replicate(rows.P().rows(), 1);
  return rows.slopes(form.C.col(o))[l + 1] * form.V[l + 1].leftCols(k);
}

// Features of layer l less their means, which the constant of the next layer takes up.
Matrix centred_features(const FormRows& rows, std::size_t l) {
  const auto [first, units] = rows.layout().hidden[l];
  const auto h = rows.P().middleCols(first, units);
  return h.rowwise() - h.colwise().mean();
}

}  // namespace

Vector unit_worth(const Form& form, std::size_t l, const DeepData& data, const Control& control) {
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
  const Products sums = over_rows(data.rows(), empty, control, [&](Products& to, Index first, Index count) {
    const FormRows rows(form, data.x.middleRows(first, count));
    to.FF.noalias() += rows.F().transpose() * rows.F();
    for (Index o = 0; o < m; ++o) {
      // d f / d h_j times h_j; of units whose scale is free that is d f / d q times q.
      const Matrix part = form.scale_is_free()
                              ? Matrix(rows.slopes(form.C.col(o))[l].cwiseProduct(rows.Q(l)))
                              : slopes_by_features(form, rows, l, o).cwiseProduct(centred_features(rows, l));
      to.K[static_cast<std::size_t>(o)].noalias() += rows.F().transpose() * part;
      to.squares += part.colwise().squaredNorm().transpose();
    }
  });
  Vector worth = sums.squares;
  // Where |q_j| is a feature of F it goes with the unit: what leaving out one column of a least-squares fit
  // costs.
  const FormLayout layout(form);
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
