// Algorithm 5 of paper depth2, and Claim D.14.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/blas.h"
#include "data/reduce.h"
#include "data/views.h"
#include "papers/depth2/depth2_jennrich.h"

namespace exhume {
namespace {

// Eigenvalues of the Gram matrix below this share of the largest are zero.
constexpr double kNullShare = 1e-13;
constexpr double kMostBound = 1e3;  // B from units that noise has spoilt

// Gram matrix of (features, y) over rows whose features are not longer than tau.
struct Gram {
  Matrix sums;
  Index rows = 0, truncated = 0;
  double y = 0, yy = 0;
  void merge(const Gram& other) {
    sums += other.sums;
    rows += other.rows;
    truncated += other.truncated;
    y += other.y;
    yy += other.yy;
  }
};

// (a max(z, 0), a max(-z, 0), x, 1, y), z = Wx + b.
Matrix features(const UnsignedUnits& units, const SampleBlock& block) {
  const Index k = units.W.rows(), d = units.W.cols();
  Matrix out(block.rows(), 2 * k + d + 2);
  const Matrix z = (block.x() * units.W.transpose()).rowwise() + units.b.transpose();
  const Vector a = units.A.row(0);
  out.leftCols(k) = z.cwiseMax(0) * a.asDiagonal();
  out.middleCols(k, k) = (-z).cwiseMax(0) * a.asDiagonal();
  out.middleCols(2 * k, d) = block.x();
  out.col(2 * k + d).setOnes();
  out.col(2 * k + d + 1) = block.y().col(0);
  return out;
}

// argmin beta^T G beta - 2 g^T beta in the ball |beta| <= radius: beta = (G + mu)^+ g with the least mu >= 0
// that fits.
Vector least_squares_in_ball(const Matrix& G, const Vector& g, double radius, bool& boundary) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(G);
  const Vector lambda = eigen.eigenvalues().cwiseMax(0), rotated = eigen.eigenvectors().transpose() * g;
  const double cut = kNullShare * lambda.maxCoeff();
  const auto solution = [&](double mu) {
    Vector beta(lambda.size());
    for (Index i = 0; i < lambda.size(); ++i) beta(i) = lambda(i) > cut ? rotated(i) / (lambda(i) + mu) : 0;
    return beta;
  };
  boundary = solution(0).norm() > radius;
  if (!boundary) return eigen.eigenvectors() * solution(0);
  double low = 0, high = rotated.norm() / radius;  // |beta(high)| <= |g| / high = radius
  for (int step = 0; step < 200 && high - low > 1e-15 * high; ++step) {
    const double middle = (low + high) / 2;
    (solution(middle).norm() > radius ? low : high) = middle;
  }
  return eigen.eigenvectors() * solution(high);
}

}  // namespace

Network fold_features(const Matrix& W, const Vector& b, const Vector& alpha, const Vector& alpha_turned,
                      const Vector& linear, double constant) {
  const Index k = W.rows(), d = linear.size();
  if (b.size() != k || alpha.size() != k || alpha_turned.size() != k || (k > 0 && W.cols() != d)) {
    throw std::invalid_argument(
        fmt::format("fold_features: {} units of {} inputs with {} biases, {} and {} coefficients, "
                    "and a linear part of {} entries",
                    k, W.cols(), b.size(), alpha.size(), alpha_turned.size(), d));
  }
  const Vector slope = k > 0 ? Vector(linear - W.transpose() * alpha_turned) : linear;
  const double level = constant - (k > 0 ? b.dot(alpha_turned) : 0), norm = slope.norm();
  const Index extra = norm > 0 ? 2 : 0;
  Network out;
  out.W().resize(k + extra, d);
  out.b().resize(k + extra);
  out.A().resize(1, k + extra);
  out.c() = Vector::Zero(1);
  out.W().topRows(k) = W;
  out.b().head(k) = b;
  out.A().leftCols(k) = (alpha + alpha_turned).transpose();
  if (extra == 0) {
    out.c()(0) = level;
    return out;
  }
  for (const Index turn : {0, 1}) {
    const double sign = turn == 0 ? 1 : -1;
    out.W().row(k + turn) = sign * slope.transpose() / norm;
    out.b()(k + turn) = sign * level / norm;
    out.A()(0, k + turn) = sign * norm;
  }
  return out;
}

RegressionResult regression_network(const SamplePtr& standard, const RegressionOptions& options,
                                    const Control& control) {
  if (standard->outputs() != 1) {
    throw std::invalid_argument(
        fmt::format("the regression folds one output, and there are {}", standard->outputs()));
  }
  if (!(options.epsilon > 0))
    throw std::invalid_argument(fmt::format("epsilon is {}, expected above 0", options.epsilon));
  const SingleThreadedBlas single;
  const Index n = standard->rows(), half = n / 2;
  const SamplePtr first = row_range(standard, 0, half), second = row_range(standard, half, n - half);
  RegressionResult out;
  const HermiteTensors tensors = estimate_hermite_tensors(
      first, {.order = options.units.ell == 2 ? 6 : 4, .residualise = options.residualise}, control);
  out.units = robust_units(tensors, options.units);
  const Index k = out.units.W.rows(), d = standard->inputs(), q = 2 * k + d + 1;
  double bound = 1;
  for (Index i = 0; i < k; ++i) {
    const double a = std::abs(out.units.A(0, i));
    bound = std::max({bound, a, 1 / std::max(a, kTiny), std::abs(out.units.b(i))});
  }
  bound = options.bound.value_or(std::min(bound, kMostBound));
  const double count = static_cast<double>(std::max<Index>(k, 1)), inputs = static_cast<double>(d);
  out.radius = std::sqrt(8 * count) + count * (1 + bound);
  out.truncation = 20 * count * (8 * count + inputs) * bound *
                   std::sqrt(std::log(count * inputs * bound * count / options.epsilon));
  Gram empty;
  empty.sums = Matrix::Zero(q + 1, q + 1);
  const Gram gram =
      reduce_blocks(*second, empty, control, "regression", [&](Gram& sums, const SampleBlock& block) {
        Matrix F = features(out.units, block);
        for (Index r = 0; r < F.rows(); ++r) {
          if (F.row(r).head(q).norm() > out.truncation) {
            F.row(r).setZero();
            ++sums.truncated;
          }
        }
        sums.sums.noalias() += F.transpose() * F;
        sums.rows += F.rows();
        sums.y += block.y().sum();
        sums.yy += block.y().squaredNorm();
      });
  out.truncated = gram.truncated;
  const Vector beta = least_squares_in_ball(gram.sums.topLeftCorner(q, q), gram.sums.col(q).head(q),
                                            out.radius, out.on_the_boundary);
  const Vector a = out.units.A.row(0).transpose();
  out.network = fold_features(out.units.W, out.units.b, beta.head(k).cwiseProduct(a),
                              beta.segment(k, k).cwiseProduct(a), beta.segment(2 * k, d), beta(2 * k + d));
  struct Squares {
    double sum = 0;
    void merge(const Squares& other) { sum += other.sum; }
  };
  const Squares left =
      reduce_blocks(*second, Squares{}, control, "", [&](Squares& sums, const SampleBlock& block) {
        sums.sum += (evaluate(out.network, block.x()) - block.y()).squaredNorm();
      });
  const double rows = static_cast<double>(std::max<Index>(gram.rows, 1));
  const double variance = gram.yy / rows - gram.y * gram.y / (rows * rows);
  out.relative_mse = variance > 0 ? left.sum / rows / variance : 0;
  return out;
}

}  // namespace exhume
