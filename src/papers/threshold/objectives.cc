#include "papers/threshold/objectives.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/random.h"
#include "decompose/subspace.h"
#include "linalg/orthonormal.h"
#include "linalg/symmetric_matrix.h"
#include "routes/depth2.h"

namespace exhume {
namespace {

// The moments in the coordinates where M is the identity on its k leading eigenvectors.
struct Whitened {
  LandscapeMoments moments;
  Matrix back;  // d x k: w ~ back v for a minimum v
};

Whitened whiten(const Matrix& order2, const Matrix& order4, Index k) {
  const Matrix M = from_coordinates(order2.col(0));
  const Index d = M.rows();
  if (k < 1 || k > d) {
    throw std::invalid_argument(fmt::format(
        "the objectives find up to d = {} directions, but {} were asked for; the start `tensor` finds more",
        d, k));
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(M);
  std::vector<Index> order(static_cast<std::size_t>(d));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::abs(eigen.eigenvalues()(a)) > std::abs(eigen.eigenvalues()(b));
  });
  Matrix down(d, k);  // z = down v
  Whitened out;
  out.back.resize(d, k);
  for (Index i = 0; i < k; ++i) {
    const Index e = order[static_cast<std::size_t>(i)];
    const double root = std::sqrt(std::max(std::abs(eigen.eigenvalues()(e)), kTiny));
    down.col(i) = eigen.eigenvectors().col(e) / root;
    out.back.col(i) = eigen.eigenvectors().col(e) * root;
  }
  const Index q = symmetric_size(k);
  Matrix L(order4.rows(), q);  // k(down v) = L k(v)
  for (Index b = 0; b < k; ++b) {
    for (Index a = 0; a <= b; ++a) {
      const double scale = a == b ? 1 : std::sqrt(2.0);
      L.col(symmetric_position(a, b)) = scale * pair_coordinates(down.col(a), down.col(b));
    }
  }
  out.moments.M = Matrix::Identity(k, k);
  out.moments.T = L.transpose() * order4 * L;
  // All T(v,v,v,v) have the sign of u_4 c_i in the linear model; the trace over pairs is their average.
  double trace = 0;
  for (Index b = 0; b < k; ++b) {
    for (Index a = 0; a < k; ++a) trace += out.moments.T(symmetric_position(a, a), symmetric_position(b, b));
  }
  out.moments.sign = trace < 0 ? -1 : 1;
  return out;
}

// Largest |T(v,v,v,v)| over a few hundred unit vectors.
double spread_of(const Matrix& T, Index k, std::uint64_t seed) {
  Matrix V = Stream(seed, "objective scale").normal_matrix(k, 200);
  V.colwise().normalize();
  const Matrix K = rank_one_coordinates(V);
  return std::max((K.cwiseProduct(T * K)).colwise().sum().cwiseAbs().maxCoeff(), kTiny);
}

// W^T up to scale from the minima: the inverse transposed, brought back.
Matrix invert(const Matrix& minima, const Matrix& back) {
  const Matrix inverse = minima.completeOrthogonalDecomposition().pseudoInverse().transpose();
  Matrix W = back * inverse;
  W.colwise().normalize();
  return W;
}

}  // namespace

SecondOrderModel one_by_one_model(const LandscapeMoments& moments, double lambda, double beta,
                                  const Vector& z) {
  const Vector k = to_coordinates(z * z.transpose());
  const Matrix S = from_coordinates(moments.T * k);
  const Vector Mz = moments.M * z;
  const double quartic = z.dot(S * z), gap = z.dot(Mz) - beta;
  SecondOrderModel out;
  out.value = -moments.sign * quartic + lambda * gap * gap;
  out.gradient = -4 * moments.sign * (S * z) + 4 * lambda * gap * Mz;
  out.hessian = -12 * moments.sign * S + 4 * lambda * gap * moments.M + 8 * lambda * Mz * Mz.transpose();
  return out;
}

SecondOrderModel simultaneous_model(const LandscapeMoments& moments, double lambda, double gamma, double beta,
                                    Index count, const Vector& stacked) {
  const Index k = moments.M.rows();
  const Eigen::Map<const Matrix> Z(stacked.data(), k, count);
  std::vector<Matrix> S;  // S_j = T(z_j, z_j, ., .)
  Matrix total = Matrix::Zero(k, k);
  for (Index j = 0; j < count; ++j) {
    S.push_back(from_coordinates(moments.T * to_coordinates(Z.col(j) * Z.col(j).transpose())));
    total += S.back();
  }
  SecondOrderModel out;
  out.gradient.resize(k * count);
  out.hessian.resize(k * count, k * count);
  const double s = moments.sign;
  for (Index j = 0; j < count; ++j) {
    const Vector z = Z.col(j), Mz = moments.M * z;
    const Matrix others = total - S[static_cast<std::size_t>(j)];
    const Matrix& own = S[static_cast<std::size_t>(j)];
    const double gap = z.dot(Mz) - beta;
    out.value += s * (z.dot(others * z) - gamma * z.dot(own * z)) + lambda * gap * gap;
    // Every pair j != l stands in the sum twice.
    out.gradient.segment(j * k, k) = s * (4 * (others * z) - 4 * gamma * (own * z)) + 4 * lambda * gap * Mz;
    out.hessian.block(j * k, j * k, k, k) =
        s * (4 * others - 12 * gamma * own) + 4 * lambda * gap * moments.M + 8 * lambda * Mz * Mz.transpose();
    for (Index l = 0; l < j; ++l) {
      const Matrix cross = 8 * s * from_coordinates(moments.T * pair_coordinates(z, Z.col(l)));
      out.hessian.block(j * k, l * k, k, k) = cross;
      out.hessian.block(l * k, j * k, k, k) = cross.transpose();
    }
  }
  return out;
}

Matrix one_by_one(const Matrix& order2, const Matrix& order4, Index k, const ObjectiveOptions& options) {
  const Whitened white = whiten(order2, order4, k);
  const double lambda = options.lambda * spread_of(white.moments.T, k, options.seed);
  const Stream stream(options.seed, "objective starts");
  Matrix minima(k, 0);
  std::vector<double> values;
  const Index starts = options.starts_per_unit * k;
  RowMatrix draw(1, k);
  for (Index s = 0; s < starts && minima.cols() < k; ++s) {
    stream.fill_normal(static_cast<std::uint64_t>(s), draw);
    Vector z = draw.row(0).normalized();
    // Away from what was found: minima are nearly orthonormal here.
    if (minima.cols() > 0) {
      const Matrix known = minima.colwise().normalized();
      const Vector rest = z - known * known.completeOrthogonalDecomposition().solve(z);
      if (rest.norm() > 0.1) z = rest.normalized();
    }
    const LocalMinimum found =
        minimise([&](const Vector& at) { return one_by_one_model(white.moments, lambda, 1, at); }, z);
    if (found.at.norm() < 0.3) continue;
    if (among_directions(minima.colwise().normalized(), found.at.normalized(), std::cos(options.same)))
      continue;
    minima.conservativeResize(k, minima.cols() + 1);
    minima.col(minima.cols() - 1) = found.at;
  }
  return invert(minima, white.back);
}

Matrix simultaneous(const Matrix& order2, const Matrix& order4, Index k, const ObjectiveOptions& options) {
  const Whitened white = whiten(order2, order4, k);
  const double lambda = options.lambda * spread_of(white.moments.T, k, options.seed);
  const Matrix G = Stream(options.seed, "objective starts").normal_matrix(k, k);
  const Matrix Q = orthonormal_basis(G);
  const Vector start = Eigen::Map<const Vector>(Q.data(), k * k);
  const LocalMinimum found = minimise(
      [&](const Vector& at) { return simultaneous_model(white.moments, lambda, options.gamma, 1, k, at); },
      start, {.radius = 0.5, .max_iterations = 400});
  return invert(Eigen::Map<const Matrix>(found.at.data(), k, k), white.back);
}

ResidualisedMoments residualised_moments(const SamplePtr& standard, const Control& control) {
  if (standard->outputs() != 1) {
    throw std::invalid_argument(
        fmt::format("the objectives take one output, but the samples have {}", standard->outputs()));
  }
  ResidualisedMoments out;
  out.order2 = hermite_moments(*residualised(standard, 1, control), 2, control).estimate(2);
  out.order4 = hermite_moments(*residualised(standard, 3, control), 4, control).estimate(4);
  return out;
}

}  // namespace exhume
