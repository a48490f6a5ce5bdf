#include "routes/symmetric_printed.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/blas.h"
#include "data/reduce.h"
#include "data/views.h"
#include "decompose/span_vectors.h"
#include "linalg/orthonormal.h"
#include "linalg/svd.h"
#include "linalg/symmetric_matrix.h"
#include "model/activation.h"

namespace exhume {
namespace {

void require_square(const CrossMoments& moments) {
  if (moments.outputs > moments.inputs) {
    throw std::invalid_argument(fmt::format(
        "the printed algorithms need as many hidden units as outputs and no more than inputs, but there "
        "are {} outputs and {} inputs; reduce the outputs first (Algorithm 4)",
        moments.outputs, moments.inputs));
  }
}

// A Frobenius-orthonormal basis of the span of matrices whose printed vec* are the null vectors of T.
NullSpace printed_null_space(const Matrix& T, Index k) {
  const Index m = k;
  Vector scale = Vector::Constant(T.cols(), std::sqrt(2.0));
  for (Index i = 0; i < m; ++i) scale(symmetric_position(i, i)) = 1;
  // Coordinates c of a symmetric matrix are scale * vec*, so T c = (T scale) vec*.
  NullSpace space = null_space(T * scale.asDiagonal(), k);
  const Matrix coordinates = scale.asDiagonal() * space.basis;
  space.basis = orthonormal_columns(coordinates, k);
  return space;
}

DetectorNetwork from_detector(const Matrix& T, const CrossMoments& second, const PrintedOptions& options) {
  const Index k = second.outputs;
  const NullSpace space = options.printed_coordinates ? printed_null_space(T, k) : null_space(T, k);
  DetectorNetwork out;
  out.singular_values = space.singular_values;
  out.gap = space.gap();
  Matrix z = span_vectors(space.basis, options.span, options.seed);  // k x k, columns z_i
  if (z.cols() < k) {
    out.outcome = DetectorOutcome::kTooFewVectors;
    return out;
  }
  turn_to_positive_means(z, second.mean_y());
  out.network.W() = single_layer(second.mean_xx(), z.transpose() * second.mean_yx(), options.leak);
  out.network.A() = z.transpose().partialPivLu().inverse();
  out.network.b() = Vector::Zero(k);
  out.network.c() = Vector::Zero(k);
  const bool finite = out.network.W().allFinite() && out.network.A().allFinite();
  out.outcome = finite ? DetectorOutcome::kFound : DetectorOutcome::kTooFewVectors;
  if (!finite) out.network = Network();
  return out;
}

struct Descent {
  Matrix gradient;  // k x d
  double error = 0;
  void merge(const Descent& other) {
    gradient += other.gradient;
    error += other.error;
  }
};

Descent gradient_of(const Matrix& W, const Matrix& A, double leak, const SampleSource& samples,
                    const Control& control) {
  return reduce_blocks(samples, Descent{Matrix::Zero(W.rows(), W.cols())}, control, "",
                       [&](Descent& to, const SampleBlock& block) {
                         const Matrix z = block.x() * W.transpose();
                         Matrix h(z.rows(), z.cols()), slopes(z.rows(), z.cols());
                         activate_leaky(leak, z, h, slopes);
                         const Matrix residual = h * A.transpose() - block.y();
                         const Matrix back = (residual * A).cwiseProduct(slopes);
                         to.gradient.noalias() += back.transpose() * block.x();
                         to.error += residual.squaredNorm();
                       });
}

}  // namespace

void PrintedOptions::validate() const {
  if (!(leak >= 0 && leak < 1))
    throw std::invalid_argument(fmt::format("leak is {}, but must be in [0, 1)", leak));
}

const char* to_string(DetectorOutcome outcome) {
  switch (outcome) {
    case DetectorOutcome::kFound:
      return "found";
    case DetectorOutcome::kTooFewVectors:
      return "the null space of the detector gave too few vectors: more samples are needed";
    case DetectorOutcome::kTooManyUnits:
      return "there are more units than inputs or outputs";
    case DetectorOutcome::kNothing:
      return "no linear part of the outputs stands out from the noise";
  }
  return "";
}

Matrix single_layer(const Matrix& xx, const Matrix& yx, double leak) {
  return single_layer_factor(leak) * xx.ldlt().solve(yx.transpose()).transpose();
}

void turn_to_positive_means(Matrix& z, const Vector& mean_y) {
  const Vector mean = z.transpose() * mean_y;
  for (Index i = 0; i < z.cols(); ++i) {
    if (mean(i) < 0) z.col(i) = -z.col(i);
  }
}

Matrix single_layer(const SampleSource& samples, double leak, const Control& control) {
  struct Sums {
    Matrix xx, yx;
    void merge(const Sums& other) {
      xx += other.xx;
      yx += other.yx;
    }
  };
  const SingleThreadedBlas single;
  const Index d = samples.inputs(), m = samples.outputs();
  const Sums sums = reduce_blocks(samples, Sums{Matrix::Zero(d, d), Matrix::Zero(m, d)}, control,
                                  "single layer", [](Sums& to, const SampleBlock& block) {
                                    to.xx.noalias() += block.x().transpose() * block.x();
                                    to.yx.noalias() += block.y().transpose() * block.x();
                                  });
  return single_layer(sums.xx, sums.yx, leak);
}

DetectorNetwork algorithm2(const CrossMoments& moments, const PrintedOptions& options) {
  options.validate();
  require_square(moments);
  const SingleThreadedBlas single;
  return from_detector(pure_neuron_detector(moments, moments.linear_part(), {false, options.leak}), moments,
                       options);
}

DetectorNetwork algorithm3(const CrossMoments& first, const CrossMoments& second,
                           const PrintedOptions& options) {
  options.validate();
  require_square(first);
  const SingleThreadedBlas single;
  return from_detector(pure_neuron_detector(first, first.linear_part(), {true, options.leak}), second,
                       options);
}

DetectorNetwork algorithm2(const SamplePtr& samples, const PrintedOptions& options, const Control& control) {
  return algorithm2(cross_moments(*samples, control), options);
}

DetectorNetwork algorithm3(const SamplePtr& samples, const PrintedOptions& options, const Control& control) {
  const Index half = samples->rows() / 2;
  return algorithm3(cross_moments(*row_range(samples, 0, half), control),
                    cross_moments(*row_range(samples, half, samples->rows() - half), control), options);
}

DetectorNetwork algorithm4(const SamplePtr& samples, Index hidden, const PrintedOptions& options,
                           const Control& control) {
  if (hidden < 1 || hidden > samples->outputs() || hidden > samples->inputs()) {
    throw std::invalid_argument(
        fmt::format("hidden is {}, but must be between 1 and the number of outputs and inputs, {} and {}",
                    hidden, samples->outputs(), samples->inputs()));
  }
  const SingleThreadedBlas single;
  const Index half = samples->rows() / 2;
  const Index d = samples->inputs(), m = samples->outputs();
  struct Sum {
    Matrix yx;
    void merge(const Sum& other) { yx += other.yx; }
  };
  const Sum sum = reduce_blocks(
      *row_range(samples, 0, half), Sum{Matrix::Zero(m, d)}, control, "E[yx]",
      [](Sum& to, const SampleBlock& block) { to.yx.noalias() += block.y().transpose() * block.x(); });
  const Matrix P = thin_svd(sum.yx).U.leftCols(hidden);
  const SamplePtr reduced =
      linear_view(row_range(samples, half, samples->rows() - half), Matrix::Identity(d, d), P.transpose());
  DetectorNetwork out = algorithm3(reduced, options, control);
  if (out.outcome == DetectorOutcome::kFound) {
    out.network.A() = (P * out.network.A()).eval();
    out.network.c() = Vector::Zero(m);
  }
  return out;
}

DetectorNetwork algorithm3_cross_fitted(const SamplePtr& samples, const PrintedOptions& options,
                                        const Control& control) {
  const Index half = samples->rows() / 2;
  const CrossMoments first = cross_moments(*row_range(samples, 0, half), control);
  const CrossMoments second = cross_moments(*row_range(samples, half, samples->rows() - half), control);
  DetectorNetwork a = algorithm3(first, second, options), b = algorithm3(second, first, options);
  if (a.outcome != DetectorOutcome::kFound) return a;
  if (b.outcome != DetectorOutcome::kFound) return b;
  const Network one = canonical(a.network), two = canonical(b.network);
  const Alignment match = align(one, two);
  if (!match.comparable) return a;
  a.network = one;
  for (Index i = 0; i < one.hidden(); ++i) {
    const Index j = match.match[0][static_cast<std::size_t>(i)];
    a.network.W().row(i) = (one.W().row(i) + two.W().row(j)) / 2;
    a.network.A().col(i) = (one.A().col(i) + two.A().col(j)) / 2;
  }
  a.gap = std::min(a.gap, b.gap);
  return a;
}

Network first_layer_by_descent(const Network& start, const SampleSource& samples,
                               const LayerDescentOptions& options, const Control& control) {
  const SingleThreadedBlas single;
  const double n = static_cast<double>(samples.rows());
  struct Sum {
    Matrix xx;
    void merge(const Sum& other) { xx += other.xx; }
  };
  const Index d = samples.inputs();
  const Matrix xx = reduce_blocks(samples, Sum{Matrix::Zero(d, d)}, control, "",
                                  [](Sum& to, const SampleBlock& block) {
                                    to.xx.noalias() += block.x().transpose() * block.x();
                                  })
                        .xx /
                    n;
  const double largest_x = spectral_norm(xx);
  const double largest_a = spectral_norm(start.A());
  const double step = 1 / std::max(largest_x * largest_a * largest_a, kTiny);
  Matrix W = start.W(), ahead = W, best = W;
  double momentum = 1, before = std::numeric_limits<double>::infinity(), least = before;
  for (int i = 0; i < options.iterations; ++i) {
    control.check();
    const Descent at = gradient_of(ahead, start.A(), options.leak, samples, control);
    if (at.error < least) {
      least = at.error;
      best = ahead;
    }
    if (at.error > before) momentum = 1;
    before = at.error;
    const Matrix next = ahead - step * at.gradient / n;
    const double following = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    ahead = next + (momentum - 1) / following * (next - W);
    W = next;
    momentum = following;
    control.report("gradient descent", static_cast<double>(i + 1) / options.iterations);
  }
  Network out = start;
  out.W() = best;
  return out;
}

PairedError paired_error(const Network& truth, const Network& estimate) {
  const Index k = truth.hidden();
  if (estimate.hidden() != k || estimate.inputs() != truth.inputs() ||
      estimate.outputs() != truth.outputs()) {
    throw std::invalid_argument(
        fmt::format("paired_error: {} units are compared with {}", estimate.hidden(), k));
  }
  const auto rows = [](const Matrix& M) {
    return Matrix(M.rowwise().norm().cwiseMax(kTiny).cwiseInverse().asDiagonal() * M);
  };
  const Matrix W = rows(truth.W()), V = rows(estimate.W());
  const Matrix A = rows(truth.A().transpose()), B = rows(estimate.A().transpose());
  Matrix cost(k, k);
  for (Index i = 0; i < k; ++i) {
    for (Index j = 0; j < k; ++j)
      cost(i, j) = (W.row(i) - V.row(j)).squaredNorm() + (A.row(i) - B.row(j)).squaredNorm();
  }
  const std::vector<Index> match = optimal_assignment(cost);
  PairedError error;
  for (Index i = 0; i < k; ++i) {
    const Index j = match[static_cast<std::size_t>(i)];
    error.W += (W.row(i) - V.row(j)).squaredNorm();
    error.A += (A.row(i) - B.row(j)).squaredNorm();
  }
  return error;
}

}  // namespace exhume
