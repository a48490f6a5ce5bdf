#include "moments/standardise.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "exhume/error.h"

namespace exhume {
namespace {

// Relative size under which a variance, or an eigenvalue of the correlation matrix, is rounding.
constexpr double kRounding = 1e-13;

Vector deviations(const SecondMoments& moments) {
  return (moments.centred.diagonal() / static_cast<double>(moments.count)).cwiseSqrt();
}

bool is_constant(double sd, double mean) { return !(sd > 1e-14 * std::abs(mean)) || sd == 0; }

// Sums of squares of such numbers, and of their products, leave the range of double.
constexpr double kTooLarge = 1e145;

void refuse_unusable(double sd, double mean, const char* what, Index column) {
  if (!(sd < kTooLarge) || !(std::abs(mean) < kTooLarge)) {
    throw DataError(
        fmt::format("{}: column {} (counting from 0) holds numbers beyond {:.0e}, too large for sums of "
                    "squares; divide it",
                    what, column, kTooLarge));
  }
  if (is_constant(sd, mean))
    throw DataError(fmt::format("{}: column {} (counting from 0) is constant; remove it", what, column));
}

void refuse_dependent(const Matrix& correlation, const Eigen::SelfAdjointEigenSolver<Matrix>& eigen) {
  const Index d = correlation.rows();
  for (Index b = 0; b < d; ++b) {
    for (Index a = 0; a < b; ++a) {
      if (std::abs(correlation(a, b)) > 1 - kRounding) {
        throw DataError(
            fmt::format("inputs: columns {} and {} (counting from 0) are copies of each other up to scale "
                        "and shift; remove one of them",
                        a, b));
      }
    }
  }
  if (eigen.eigenvalues()(0) > kRounding * static_cast<double>(d)) return;
  std::string columns;
  for (Index a = 0; a < d; ++a) {
    if (std::abs(eigen.eigenvectors()(a, 0)) > 1e-6)
      columns += fmt::format("{}{}", columns.empty() ? "" : ", ", a);
  }
  throw DataError(
      fmt::format("inputs: columns {} (counting from 0) are linearly dependent, so the inputs lie in a "
                  "hyperplane; remove one of them",
                  columns));
}

}  // namespace

Standardisation standardise(const SecondMoments& moments) {
  const Index d = moments.inputs, m = moments.outputs;
  const Vector sd = deviations(moments);
  for (Index a = 0; a < d; ++a) refuse_unusable(sd(a), moments.mean(a), "inputs", a);
  for (Index o = 0; o < m; ++o) refuse_unusable(sd(d + o), moments.mean(d + o), "outputs", o);
  const Vector scale = sd.head(d);
  const Matrix correlation =
      scale.cwiseInverse().asDiagonal() * moments.covariance_x() * scale.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(correlation);
  refuse_dependent(correlation, eigen);
  const Matrix& U = eigen.eigenvectors();
  const Vector root = eigen.eigenvalues().cwiseSqrt();
  Standardisation result;
  result.map.P = U * root.cwiseInverse().asDiagonal() * U.transpose() * scale.cwiseInverse().asDiagonal();
  result.back = scale.asDiagonal() * U * root.asDiagonal() * U.transpose();
  result.map.mu = moments.mean_x();
  result.map.D = sd.tail(m).cwiseInverse();
  result.map.nu = moments.mean_y();
  return result;
}

Network Standardisation::to_user(const Network& standard) const {
  Network out;
  out.W = standard.W * map.P;
  out.b = standard.b;
  if (out.W.rows() > 0) out.b -= out.W * map.mu;  // BLAS complains about matrices without rows
  out.A = map.D.cwiseInverse().asDiagonal() * standard.A;
  out.c = standard.c.cwiseQuotient(map.D) + map.nu;
  if (standard.has_linear_term()) {
    out.L = map.D.cwiseInverse().asDiagonal() * standard.L * map.P;
    out.c -= out.L * map.mu;
  }
  return out;
}

Network Standardisation::from_user(const Network& network) const {
  Network out;
  out.W = network.W * back;
  out.b = network.b;
  if (network.W.rows() > 0) out.b += network.W * map.mu;
  out.A = map.D.asDiagonal() * network.A;
  out.c = map.D.cwiseProduct(network.c - map.nu);
  if (network.has_linear_term()) {
    out.c += map.D.cwiseProduct(network.L * map.mu);
    out.L = map.D.asDiagonal() * network.L * back;
  }
  return out;
}

namespace {

// z = M x' + b with x' = P (x - mu) as a function of x, and back: `turn` is P or P^-1.
template <class Block>
void change_inputs(Block M, Vector& b, const Matrix& turn, const Vector& mu, bool to_user) {
  if (M.rows() == 0) return;
  if (to_user) {
    M = (M * turn).eval();
    b -= M * mu;
  } else {
    b += M * mu;
    M = (M * turn).eval();
  }
}

DeepNetwork changed(DeepNetwork network, const Matrix& turn, const Vector& mu, bool to_user) {
  const Index d = network.inputs();
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    Layer& layer = network.layers[l];
    if (l == 0) change_inputs(layer.W.leftCols(d), layer.b, turn, mu, to_user);
    if (l > 0 && layer.L.size() != 0) change_inputs(layer.L.leftCols(d), layer.b, turn, mu, to_user);
  }
  return network;
}

}  // namespace

DeepNetwork Standardisation::to_user(const DeepNetwork& standard) const {
  DeepNetwork out = changed(standard, map.P, map.mu, true);
  Layer& last = out.layers.back();
  const Vector scale = map.D.cwiseInverse();
  last.W = scale.asDiagonal() * last.W;
  if (last.L.size() != 0) last.L = scale.asDiagonal() * last.L;
  last.b = last.b.cwiseProduct(scale) + map.nu;
  return out;
}

DeepNetwork Standardisation::from_user(const DeepNetwork& network) const {
  DeepNetwork out = changed(network, back, map.mu, false);
  Layer& last = out.layers.back();
  last.W = map.D.asDiagonal() * last.W;
  if (last.L.size() != 0) last.L = map.D.asDiagonal() * last.L;
  last.b = (last.b - map.nu).cwiseProduct(map.D);
  return out;
}

}  // namespace exhume
