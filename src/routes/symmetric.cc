#include "routes/symmetric.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/blas.h"
#include "data/reduce.h"
#include "data/views.h"
#include "decompose/span_vectors.h"
#include "linalg/svd.h"
#include "linalg/symmetric_matrix.h"
#include "moments/moments.h"
#include "routes/symmetric_printed.h"

namespace exhume {
namespace {

// Directions of inputs or outputs whose variance is below this share of the largest are constant for our
// purposes.
constexpr double kNoVariance = 1e-12;

// S^(-1/2) of a positive semidefinite matrix on the directions in which it is not zero: r x d, and its
// pseudo-inverse.
struct Whitening {
  Matrix forward, back;
};
Whitening ranked_whitening(const Matrix& S) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(S);
  const double largest = std::max(eigen.eigenvalues().maxCoeff(), kTiny);
  const Index r = (eigen.eigenvalues().array() > kNoVariance * largest).count();
  const Matrix vectors = eigen.eigenvectors().rightCols(r);
  const Vector root = eigen.eigenvalues().tail(r).cwiseSqrt();
  return {root.cwiseInverse().asDiagonal() * vectors.transpose(), vectors * root.asDiagonal()};
}

// Even and odd rows of a source, as two sets of cross moments; their sum is over all rows.
struct Halves {
  CrossMoments half[2];
  void merge(const Halves& other) {
    half[0].merge(other.half[0]);
    half[1].merge(other.half[1]);
  }
  auto fields() { return std::tie(half); }
};

Halves cross_moments_by_halves(const SampleSource& samples, const Control& control) {
  const CrossMoments empty(samples.inputs(), samples.outputs());
  return reduce_blocks(samples, Halves{{empty, empty}}, control, "cross moments",
                       [](Halves& to, const SampleBlock& block) {
                         for (Index h = 0; h < 2; ++h) {
                           const Index offset = (h + block.first_row()) % 2;
                           const Index size = block.rows() > offset ? (block.rows() - offset + 1) / 2 : 0;
                           SampleBlock part;
                           part.allocate(0, size, block.x().cols(), block.y().cols());
                           for (Index i = 0; i < size; ++i) {
                             part.own_x().row(i) = block.x().row(offset + 2 * i);
                             part.own_y().row(i) = block.y().row(offset + 2 * i);
                           }
                           to.half[h].add(part);
                         }
                       });
}

// The linear part of y by regression on (x, |V x|).
Matrix linear_part_beside_units(const SampleSource& samples, const Matrix& V, const Control& control) {
  struct Sums {
    Matrix gram, right;
    void merge(const Sums& other) {
      gram += other.gram;
      right += other.right;
    }
  };
  const Index d = samples.inputs(), q = d + V.rows();
  Sums sums = reduce_blocks(samples, Sums{Matrix::Zero(q, q), Matrix::Zero(q, samples.outputs())}, control,
                            "refine", [&](Sums& to, const SampleBlock& block) {
                              Matrix features(block.rows(), q);
                              features.leftCols(d) = block.x();
                              features.rightCols(V.rows()).noalias() = block.x() * V.transpose();
                              features.rightCols(V.rows()) = features.rightCols(V.rows()).cwiseAbs().eval();
                              to.gram.noalias() += features.transpose() * features;
                              to.right.noalias() += features.transpose() * block.y();
                            });
  sums.gram.diagonal().array() += 1e-12 * sums.gram.trace() / static_cast<double>(q);
  return sums.gram.ldlt().solve(sums.right).topRows(d).transpose();
}

// Units in reduced coordinates: rows of V (k x k) and columns of B (k x k), y ~ B s(V x).
struct Units {
  Matrix V, B;
  Matrix null_basis;  // of the detector
  Vector singular_values;
  double gap = 0;
  bool found = false;
};

Units units_of(const CrossMoments& moments, const Matrix& Q, const SymmetricOptions& options) {
  const Index k = moments.outputs;
  const NullSpace space = null_space(pure_neuron_detector(moments, Q, {true, options.leak}), k);
  Units units;
  units.null_basis = space.basis;
  units.singular_values = space.singular_values;
  units.gap = space.gap();
  Matrix z = span_vectors(space.basis, options.span, options.seed);
  if (z.cols() < k) return units;
  turn_to_positive_means(z, moments.mean_y());
  units.V = single_layer_factor(options.leak) * z.transpose() * Q;
  units.B = z.transpose().partialPivLu().inverse();
  units.found = units.V.allFinite() && units.B.allFinite();
  return units;
}

Matrix linear_part(const CrossMoments& moments, const SymmetricOptions& options) {
  return options.controlled ? moments.linear_part_controlled() : moments.linear_part();
}

// Units from the moments, then, round by round, with the linear part that the units of the round before give.
Units refined_units(const CrossMoments& moments, const SampleSource& reduced, const SymmetricOptions& options,
                    const Control& control) {
  Matrix Q = linear_part(moments, options);
  Units units = units_of(moments, Q, options);
  double change = std::numeric_limits<double>::infinity();
  for (int i = 0; i < options.refinements && units.found && options.controlled; ++i) {
    const Matrix better = linear_part_beside_units(reduced, units.V, control);
    const double moved = (better - Q).norm() / Q.norm();
    // Steps shrink by a factor of ten or more until noise or rounding is all that is left.
    if (!(moved < change / 2)) break;
    const Units again = units_of(moments, better, options);
    if (!again.found) break;
    units = again;
    Q = better;
    change = moved;
    if (moved < 1e-13) break;
  }
  return units;
}

DetectorDiagnosis diagnose(const Halves& halves, const SymmetricOptions& options, const Matrix& null_basis,
                           double signal) {
  DetectorDiagnosis out;
  Matrix T[2];
  for (int h = 0; h < 2; ++h) {
    const CrossMoments& half = halves.half[h];
    T[h] = pure_neuron_detector(half, linear_part(half, options), {true, options.leak});
  }
  const Matrix D = (T[0] - T[1]) / 2;
  out.noise = spectral_norm(D * null_basis);
  out.signal = signal;
  out.samples = halves.half[0].count + halves.half[1].count;
  const double ratio = DetectorDiagnosis::kClear * out.noise / std::max(out.signal, kTiny);
  out.samples_needed = static_cast<double>(out.samples) * ratio * ratio;
  return out;
}

}  // namespace

void SymmetricOptions::validate() const {
  if (hidden && *hidden < 1)
    throw std::invalid_argument(fmt::format("hidden is {}, but must be at least 1", *hidden));
  if (!(leak >= 0 && leak < 1))
    throw std::invalid_argument(fmt::format("leak is {}, but must be in [0, 1)", leak));
  if (refinements < 0) {
    throw std::invalid_argument(fmt::format("refinements is {}, but must be at least 0", refinements));
  }
}

std::string DetectorDiagnosis::words() const {
  const double ratio = signal / std::max(noise, kTiny);
  if (clear()) {
    return fmt::format(
        "the pure neurons stand out clearly: the detector's gap is {:.1f} times its sampling noise", ratio);
  }
  const double digits = std::pow(10, std::floor(std::log10(std::max(samples_needed, 1.0))) - 1);
  return fmt::format(
      "the detector's gap is only {:.2g} times its sampling noise on {} samples; about {:.0f} samples would "
      "make the pure neurons stand out, or inputs that are more varied (generated ones: perturb_inputs)",
      ratio, samples, std::ceil(samples_needed / digits) * digits);
}

SymmetricNetwork symmetric_network(const SamplePtr& samples, const SymmetricOptions& options,
                                   const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  SymmetricNetwork out;
  const SecondMoments second = second_moments(*samples, control);
  const Vector mean_x = second.mean_x(), mean_y = second.mean_y();
  // About zero, not about the mean: zero is the centre of symmetry.
  const Whitening x_white = ranked_whitening(second.covariance_x() + mean_x * mean_x.transpose());
  const Whitening y_white = ranked_whitening(second.covariance_y() + mean_y * mean_y.transpose());
  const SamplePtr white = linear_view(samples, x_white.forward, y_white.forward);

  // Row space of W and column space of A: singular vectors of the linear part.
  const HermiteMoments linear = hermite_moments(*white, 1, control);
  const Matrix estimate = linear.estimate(1);  // r x s
  const Svd svd = thin_svd(estimate);
  out.linear_values = svd.values;
  out.linear_floor = spectral_norm(linear.noise(1));
  const Index most = out.linear_values.size();
  const auto above = static_cast<Index>((out.linear_values.array() > 1.2 * out.linear_floor).count());
  const Index k = options.hidden.value_or(above);
  out.units = k;
  if (k == 0) return out;
  if (k > most) {
    out.outcome = DetectorOutcome::kTooManyUnits;
    return out;
  }
  const Matrix U = svd.U.leftCols(k).transpose(), P = svd.V.leftCols(k).transpose();
  SamplePtr reduced = linear_view(white, U, P);

  // Whiten what a linear fit leaves.
  const SecondMoments rest = second_moments(*reduced, control);
  const Matrix yx = rest.covariance_yx();
  const Matrix left = rest.covariance_y() - yx * rest.covariance_x().ldlt().solve(yx.transpose());
  const Whitening omega = ranked_whitening(left);
  if (omega.forward.rows() < k) {
    out.outcome = DetectorOutcome::kTooFewVectors;
    return out;
  }
  const Matrix inputs = U * x_white.forward, outputs = omega.forward * P * y_white.forward;
  reduced = linear_view(samples, inputs, outputs);

  const Halves halves = cross_moments_by_halves(*reduced, control);
  CrossMoments moments = halves.half[0];
  moments.merge(halves.half[1]);
  const Units units = refined_units(moments, *reduced, options, control);
  out.singular_values = units.singular_values;
  out.gap = units.gap;
  const Index outside = out.singular_values.size() - k;
  out.diagnosis =
      diagnose(halves, options, units.null_basis, outside > 0 ? out.singular_values(outside - 1) : 0);
  if (!units.found) {
    out.outcome = DetectorOutcome::kTooFewVectors;
    return out;
  }
  out.outcome = DetectorOutcome::kFound;
  out.network.W() = units.V * inputs;
  out.network.A() = y_white.back * (P.transpose() * (omega.back * units.B));
  out.network.b() = Vector::Zero(k);
  out.network.c() = Vector::Zero(samples->outputs());
  if (options.first_layer == FirstLayerMethod::kGradientDescent) {
    LayerDescentOptions descent;
    descent.leak = options.leak;
    out.network = first_layer_by_descent(out.network, *samples, descent, control);
  }
  return out;
}

SpectralStart symmetric_start(const SymmetricNetwork& found, const Standardisation& coordinates) {
  SpectralStart start;
  const Index d = coordinates.map.mu.size();
  start.V.resize(0, d + 1);
  start.singular_values = found.linear_values;
  start.noise_floor = found.linear_floor;
  start.above_noise = found.units;
  start.active = found.units;
  if (found.outcome != DetectorOutcome::kFound) return start;
  const Network standard = coordinates.from_user(found.network);
  start.V.resize(standard.hidden(), d + 1);
  for (Index i = 0; i < standard.hidden(); ++i) {
    const double norm = std::max(standard.W().row(i).norm(), kTiny);
    start.V.row(i).head(d) = standard.W().row(i) / norm;
    start.V(i, d) = standard.b()(i) / norm;
  }
  return start;
}

}  // namespace exhume
