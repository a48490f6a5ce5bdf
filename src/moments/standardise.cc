#include "moments/standardise.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "exhume/error.h"

namespace exhume {
namespace {

// Relative size under which a variance, or an eigenvalue of the correlation matrix, is rounding.
constexpr double kRounding = 1e-13;
// And a deviation, over the mean.
constexpr double kRoundingOfMean = 1e-14;

Vector deviations(const SecondMoments& moments) {
  return (moments.centred.diagonal() / static_cast<double>(moments.count)).cwiseSqrt();
}

// Sums of squares of such numbers, and of their products, leave the range of double.
constexpr double kTooLarge = 1e145, kTooSmall = 1e-145;

void refuse_unusable(double sd, double mean, const char* what, Index column) {
  if (!(sd < kTooLarge) || !(std::abs(mean) < kTooLarge)) {
    throw DataError(
        fmt::format("{}: column {} (counting from 0) holds numbers beyond {:.0e}, too large for sums of "
                    "squares; divide it",
                    what, column, kTooLarge));
  }
  if (sd <= kRoundingOfMean * std::abs(mean) && sd > 0) {
    throw DataError(fmt::format(
        "{}: column {} (counting from 0) is constant to within rounding of its mean, {:.3g}; remove "
        "it, or store it less its mean",
        what, column, mean));
  }
  if (sd == 0 && (mean == 0 || std::abs(mean) > kTooSmall))
    throw DataError(fmt::format("{}: column {} (counting from 0) is constant; remove it", what, column));
  if (sd < kTooSmall) {
    throw DataError(fmt::format(
        "{}: column {} (counting from 0) holds only numbers below {:.0e}, whose squares vanish in "
        "double precision; multiply it",
        what, column, kTooSmall));
  }
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

namespace {

// z = M x' + b with x' = P (x - mu), as a function of x: M P x + (b - M P mu).
template <class Block>
void change_inputs_to_user(Block M, Vector& b, const AffineMap& map) {
  if (M.rows() == 0) return;  // BLAS complains about matrices without rows
  M = (M * map.P).eval();
  b -= M * map.mu;
}

// The way back, x = back x' + mu.
template <class Block>
void change_inputs_from_user(Block M, Vector& b, const Matrix& back, const Vector& mu) {
  if (M.rows() == 0) return;
  b += M * mu;
  M = (M * back).eval();
}

}  // namespace

Network Standardisation::to_user(const Network& standard) const {
  Network out = standard;
  const Index d = standard.inputs();
  Layer& last = out.layers.back();
  last.W = map.D.cwiseInverse().asDiagonal() * last.W;
  if (last.L.size() != 0) last.L = map.D.cwiseInverse().asDiagonal() * last.L;
  last.b = last.b.cwiseQuotient(map.D) + map.nu;
  for (Layer& layer : out.layers) {
    if (&layer == &out.layers.front()) change_inputs_to_user(layer.W.leftCols(d), layer.b, map);
    if (layer.L.size() != 0) change_inputs_to_user(layer.L.leftCols(d), layer.b, map);
  }
  return out;
}

Network Standardisation::from_user(const Network& network) const {
  Network out = network;
  const Index d = network.inputs();
  Layer& last = out.layers.back();
  last.b = map.D.cwiseProduct(last.b - map.nu);
  last.W = map.D.asDiagonal() * last.W;
  if (last.L.size() != 0) last.L = map.D.asDiagonal() * last.L;
  for (Layer& layer : out.layers) {
    if (&layer == &out.layers.front()) change_inputs_from_user(layer.W.leftCols(d), layer.b, back, map.mu);
    if (layer.L.size() != 0) change_inputs_from_user(layer.L.leftCols(d), layer.b, back, map.mu);
  }
  return out;
}

}  // namespace exhume
