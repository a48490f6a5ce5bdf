#include "routes/depth2.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/blas.h"
#include "base/random.h"
#include "base/remembered.h"
#include "data/reduce.h"
#include "data/resident.h"
#include "engine/transfer.h"
#include "linalg/orthonormal.h"
#include "linalg/symmetric_matrix.h"
#include "moments/device_moments.h"
#include "moments/device_order4.h"
#include "moments/moments.h"
#include "moments/polynomial_fit.h"
#include "moments/stack.h"

namespace exhume {
namespace {

// Projected samples of up to this many numbers (1 GB) are kept in memory.
constexpr Index kKeptReduced = 125'000'000;
// Flops that order 4 may take on a device.
constexpr double kMostFlopsThere = 4e15;

// m x r with Omega^T Cov Omega = I on the directions in which the outputs vary at all.
Matrix whitening(const Matrix& covariance) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(covariance);
  const double largest = eigen.eigenvalues().maxCoeff();
  const Index rank = (eigen.eigenvalues().array() > 1e-11 * largest).count();
  return eigen.eigenvectors().rightCols(rank) *
         eigen.eigenvalues().tail(rank).cwiseSqrt().cwiseInverse().asDiagonal();
}
Matrix output_whitening(const SampleSource& samples, const Control& control) {
  if (const DeviceRows* there = rows_on_device(samples))
    return whitening(output_covariance_on_device(*there));
  return whitening(second_moments(samples, control).covariance_y());
}

// The same samples with outputs y Omega (possibly fewer of them).
SamplePtr mixed_outputs(const SamplePtr& samples, const Matrix& Omega) {
  class Mixed final : public SampleView {
   public:
    Mixed(SamplePtr base, Matrix mix) : SampleView(std::move(base)), mix_(std::move(mix)) {}
    Index outputs() const override { return mix_.cols(); }
    void read(Index first, Index count, SampleBlock& block) const override {
      SampleBlock raw;
      base_->read(first, count, raw);
      block.allocate(first, count, inputs(), outputs());
      block.own_x() = raw.x();
      block.own_y().noalias() = raw.y() * mix_;
    }

   private:
    Matrix mix_;
  };
  SamplePtr here = std::make_shared<Mixed>(samples, Omega);
  const DeviceRows* there = rows_on_device(*samples);
  if (there == nullptr) return here;
  DeviceRows mixed = there->with_outputs(Omega.cols());
  there->device->product(1, there->y->view(), false, sent(*there->device, Omega).view(), false, 0,
                         mixed.y->view());
  return on_device(std::move(here), std::move(mixed));
}

// Inputs seen in the coordinates of U (d x r).
SamplePtr projected_inputs(const SamplePtr& samples, const Matrix& U) {
  const Index d = samples->inputs(), m = samples->outputs();
  SamplePtr here = affine(samples, {U.transpose(), Vector::Zero(d), Vector::Ones(m), Vector::Zero(m)});
  const DeviceRows* there = rows_on_device(*samples);
  if (there == nullptr) return here;
  DeviceRows projected = *there;
  const auto x = std::make_shared<DeviceMatrix<double>>(*there->device, there->rows(), U.cols());
  there->device->product(1, there->x->view(), false, sent(*there->device, U).view(), false, 0, x->view());
  projected.x = x;
  return on_device(std::move(here), std::move(projected));
}

// The highest degree up to `wanted` whose features number at most a quarter of the rows.
int affordable_degree(Index inputs, Index rows, int wanted) {
  int degree = wanted;
  while (degree > 1 && polynomial_features(inputs, degree) > 0.25 * static_cast<double>(rows)) --degree;
  return degree;
}

Matrix as_units(const Matrix& directions, const Vector& biases) {
  Matrix V(directions.cols(), directions.rows() + 1);
  V << directions.transpose(), biases;
  return V;
}

// Biases from E[r He_j(w_l.x)], j = 2, 3: k x m each.
Vector biases_of(const Matrix& second, const Matrix& third, const Matrix& directions) {
  const Index k = directions.cols();
  const Matrix cosines = directions.transpose() * directions;
  const auto coefficients = [&](const Matrix& moment, int order) {
    Matrix gram = cosines.array().pow(order).matrix();
    gram.diagonal().array() += 1e-3;  // nearly parallel directions: keep the estimate bounded
    return Matrix(gram.ldlt().solve(moment));
  };
  const Matrix alpha2 = coefficients(second, 2), alpha3 = coefficients(third, 3);
  Vector biases(k);
  for (Index i = 0; i < k; ++i) {
    const double strength = alpha2.row(i).squaredNorm();
    biases(i) = strength > 0 ? std::clamp(-alpha2.row(i).dot(alpha3.row(i)) / strength, -2.0, 2.0) : 0.0;
  }
  return biases;
}

}  // namespace

SamplePtr residualised(const SamplePtr& samples, int degree, const Control& control, double tolerance) {
  constexpr int kMostIterations = 12;
  const auto fit =
      std::make_shared<PolynomialFit>(fit_polynomial(*samples, degree, control, kMostIterations, tolerance));
  return less_polynomial(samples, fit, control);
}

SpectralStart order2_start(const SamplePtr& standard, const Depth2Options& options, const Control& control) {
  const SingleThreadedBlas single;
  const SamplePtr linear_residual = residualised(standard, 1, control);
  const Matrix Omega = output_whitening(*linear_residual, control);
  const HermiteMoments moments = hermite_moments(*linear_residual, 2, control);
  const Matrix T = moments.estimate(2) * Omega, D = moments.noise(2) * Omega;
  const Index wanted = options.hidden ? std::min<Index>(*options.hidden, T.cols()) : -1;
  const LeadingSubspace space = leading_subspace(T, D, wanted);
  SpectralStart start;
  start.singular_values = space.singular_values;
  start.noise_floor = space.noise_floor;
  start.above_noise = space.above_noise;
  start.saturated = space.above_noise == T.cols();
  start.active = standard->inputs();
  const Index count = space.basis.cols();
  if (count == 0) {
    start.V.resize(0, standard->inputs() + 1);
    return start;
  }
  const RankOneElements found = rank_one_by_restarts(
      space.basis, count,
      estimated_span_options(space.singular_values(count - 1), space.noise_floor, options.seed));
  start.V = as_units(found.directions, recover_biases(standard, found.directions, control));
  return start;
}

Matrix active_subspace(const SamplePtr& standard, const Control& control) {
  const Index d = standard->inputs();
  const HermiteMoments first = hermite_moments(*standard, 1, control);
  const SamplePtr linear_residual = residualised(standard, 1, control);
  const Matrix Omega = output_whitening(*linear_residual, control);
  const HermiteMoments second = hermite_moments(*linear_residual, 2, control);
  const auto unfold = [&](const Matrix& T) {
    Matrix out(d, d * T.cols());
    for (Index o = 0; o < T.cols(); ++o) out.middleCols(o * d, d) = from_coordinates(T.col(o));
    return out;
  };
  const Matrix T1 = first.estimate(1), D1 = first.noise(1);
  const Matrix T2 = unfold(second.estimate(2) * Omega), D2 = unfold(second.noise(2) * Omega);
  const double noise1 = std::max(D1.norm() / std::sqrt(static_cast<double>(D1.size())), kTiny);
  const double noise2 = std::max(D2.norm() / std::sqrt(static_cast<double>(D2.size())), kTiny);
  Matrix T(d, T1.cols() + T2.cols()), D(d, T1.cols() + T2.cols());
  T << T1 / noise1, T2 / noise2;
  D << D1 / noise1, D2 / noise2;
  return leading_subspace(T, D, -1).basis;
}

namespace {

// Directions as columns, out of what the stack spans; the spectrum goes to `start`.
Matrix stack_directions(MomentStack& stack, Index pairs, const Depth2Options& options, SpectralStart& start,
                        const Control& control) {
  const StackSpectrum spectrum = stack.spectrum(options.hidden, control);
  start.singular_values = spectrum.singular_values;
  start.noise_floor = spectrum.noise_floor;
  start.above_noise = spectrum.above_noise;
  start.saturated = start.above_noise == pairs;
  const Index count = spectrum.basis.cols();
  if (count == 0) return {};
  return rank_one_by_restarts(
             spectrum.basis, count,
             estimated_span_options(start.singular_values(count - 1), start.noise_floor, options.seed),
             control.device.get())
      .directions;
}

SpectralStart stacked(const SamplePtr& standard, const Depth2Options& options, const Control& control) {
  const Index d = standard->inputs();
  Matrix U = Matrix::Identity(d, d);
  SpectralStart start;
  start.V.resize(0, d + 1);
  const Matrix found_active = active_subspace(standard, control);
  if (found_active.cols() > 0 && found_active.cols() < d) U = found_active;
  const DeviceRows* there = rows_on_device(*standard);
  const Index most_active = there != nullptr ? options.most_active_there : options.most_active;
  if (U.cols() > most_active) U = U.leftCols(most_active).eval();
  const Index r = U.cols(), p = symmetric_size(r);
  start.active = r;
  SamplePtr samples = projected_inputs(standard, U);
  // The projected samples are small: keep them in memory, so that not every pass projects again.
  if (there == nullptr && 2 * r <= d && samples->rows() * (r + samples->outputs()) <= kKeptReduced)
    samples = load(*samples, control);

  // Whitened outputs, as many as the limit on memory allows.
  {
    const SamplePtr rough = residualised(samples, 1, control);
    Matrix Omega = output_whitening(*rough, control);
    const auto most = static_cast<Index>(
        there != nullptr ? kMostFlopsThere / order4_flops(samples->rows(), r, order4_plan(r))
                         : options.stack_bytes / (8.0 * static_cast<double>(p) * static_cast<double>(p)));
    const Index keep = std::clamp<Index>(most, 1, Omega.cols());
    if (keep < Omega.cols()) {
      Omega *=
          orthonormal_columns(Stream(options.seed, "output mixing").normal_matrix(Omega.cols(), keep), keep);
    }
    samples = mixed_outputs(samples, Omega);
  }

  const std::unique_ptr<MomentStack> stack = moment_stack(*samples);
  for (int order = 2; order <= 4; ++order) {
    const int degree = affordable_degree(r, samples->rows(), order - 1);
    const SamplePtr left = residualised(samples, degree, control, options.polynomial_tolerance);
    stack->add(*left, order, control);
  }
  const Matrix found = stack_directions(*stack, p, options, start, control);
  if (found.size() == 0) return start;
  const Matrix directions = U * found;
  start.V = as_units(directions, recover_biases(standard, directions, control));
  return start;
}

}  // namespace

SpectralStart stacked_start(const SamplePtr& standard, const Depth2Options& options, const Control& control) {
  const SingleThreadedBlas single;
  return remembered(
      control, "spectral start", [&] { return stacked(standard, options, control); },
      [&](const SpectralStart& made) {
        return made.V.size() == 0 || made.V.cols() == standard->inputs() + 1;
      });
}

Vector recover_biases(const SamplePtr& standard, const Matrix& directions, const Control& control) {
  const Index k = directions.cols(), m = standard->outputs();
  if (k == 0) return Vector(0);
  struct Sums {
    Matrix second, third;  // k x m
    void merge(const Sums& other) {
      second += other.second;
      third += other.third;
    }
  };
  const SamplePtr left = residualised(standard, 1, control);
  if (const DeviceRows* there = rows_on_device(*left)) {
    const auto [second, third] = direction_moments(*there, directions, control);
    return biases_of(second, third, directions);
  }
  const Sums sums = reduce_blocks(
      *left, Sums{Matrix::Zero(k, m), Matrix::Zero(k, m)}, control, "biases",
      [&](Sums& to, const SampleBlock& block) {
        const Matrix Z = block.x() * directions;
        to.second.noalias() += (Z.array().square() - 1).matrix().transpose() * block.y();
        to.third.noalias() += (Z.array().cube() - 3 * Z.array()).matrix().transpose() * block.y();
      });
  return biases_of(sums.second, sums.third, directions);
}

SpectralStart moments_start(const PartialMoments& moments, const Depth2Options& options,
                            const Control& control) {
  const SingleThreadedBlas single;
  const HermiteMoments& hermite = moments.hermite;
  const Index d = hermite.inputs, m = hermite.outputs;
  // The residual's covariance, out of that of (x, y).
  const Matrix LP = moments.L * moments.P,
               yx = moments.D.asDiagonal() * moments.second.covariance_yx() * LP.transpose();
  const Matrix covariance = moments.D.asDiagonal() * moments.second.covariance_y() * moments.D.asDiagonal() -
                            yx - yx.transpose() + LP * moments.second.covariance_x() * LP.transpose();
  const Matrix Omega = whitening(covariance);
  // Outputs stand side by side in the moments, as many columns each.
  const auto mixed = [&](const Matrix& T) {
    const Index each = T.cols() / m;
    Matrix out = Matrix::Zero(T.rows(), each * Omega.cols());
    for (Index j = 0; j < Omega.cols(); ++j) {
      for (Index o = 0; o < m; ++o)
        out.middleCols(j * each, each) += Omega(o, j) * T.middleCols(o * each, each);
    }
    return out;
  };
  HostStack stack(symmetric_size(d));
  for (int order = 2; order <= hermite.order; ++order)
    stack.add(mixed(hermite.estimate(order)), mixed(hermite.noise(order)));
  SpectralStart start;
  start.V.resize(0, d + 1);
  start.active = d;
  const Matrix directions = stack_directions(stack, symmetric_size(d), options, start, control);
  if (directions.size() == 0) return start;
  const Index k = directions.cols();
  Matrix second(k, m), third = Matrix::Zero(k, m);
  const Matrix T2 = hermite.estimate(2), T3 = hermite.order >= 3 ? hermite.estimate(3) : Matrix();
  for (Index i = 0; i < k; ++i) {
    const Vector w = directions.col(i), pair = to_coordinates(Matrix(w * w.transpose()));
    second.row(i) = pair.transpose() * T2;
    for (Index o = 0; o < m && T3.size() > 0; ++o) third(i, o) = pair.dot(T3.middleCols(o * d, d) * w);
  }
  start.V = as_units(directions, biases_of(second, third, directions));
  // To the user's coordinates: w'.P (x - mu) + b'.
  const Matrix W = start.V.leftCols(d) * moments.P;
  start.V.col(d) -= W * moments.mu;
  start.V.leftCols(d) = W;
  return start;
}

}  // namespace exhume
