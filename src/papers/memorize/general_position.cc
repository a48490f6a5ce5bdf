#include "exhume/papers/memorize.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "base/random.h"

namespace exhume {
namespace {

constexpr double kParallel = 1e-13;  // directions closer than this are the same
constexpr double kSameLabel = 1e-9;  // of the largest |label|
constexpr int kLargestPower = 64;

}  // namespace

double two_layer_capacity(Index inputs) {
  const double d = static_cast<double>(inputs);
  return d * (d + 1) / 2;
}

double three_layer_capacity(Index inputs, Index features, int power) {
  double polynomials = 1;  // C(d + 2p - 1, 2p), in floating point: it may be huge
  for (int i = 1; i <= 2 * power; ++i) {
    polynomials = polynomials * static_cast<double>(inputs - 1 + i) / static_cast<double>(i);
  }
  return std::min(two_layer_capacity(features), std::round(polynomials));
}

std::optional<ThreeLayerSize> three_layer_size(Index rows, Index inputs) {
  ThreeLayerSize size;
  size.features = 2 * static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(rows))));
  for (size.power = 2; size.power <= kLargestPower; ++size.power) {
    if (three_layer_capacity(inputs, size.features, size.power) >= static_cast<double>(rows)) return size;
  }
  return std::nullopt;
}

std::string Conflict::describe(const Eigen::Ref<const RowMatrix>& y) const {
  const auto label = [&](Index row) {
    if (y.cols() == 1) return fmt::format("{:.6g}", y(row, 0));
    std::string text = "(";
    for (Index o = 0; o < std::min<Index>(y.cols(), 4); ++o)
      text += fmt::format("{}{:.6g}", o > 0 ? ", " : "", y(row, o));
    return text + (y.cols() > 4 ? ", ...)" : ")");
  };
  if (first == second) {
    return fmt::format("row {} is zero, where every network of this kind is 0, but its label is {}", first,
                       label(first));
  }
  if (scale == 1) {
    return fmt::format("rows {} and {} have the same inputs but labels {} and {}", first, second,
                       label(first), label(second));
  }
  if (scale == -1) {
    return fmt::format("row {} is the negative of row {}, and f(-x) = f(x), but their labels are {} and {}",
                       second, first, label(second), label(first));
  }
  return fmt::format(
      "row {} is {:.6g} times row {}, which fixes the ratio of their outputs, but their labels are {} and {}",
      second, scale, first, label(second), label(first));
}

std::vector<Conflict> find_conflicts(const Eigen::Ref<const RowMatrix>& x,
                                     const Eigen::Ref<const RowMatrix>& y, int degree, Index limit) {
  const Index n = x.rows();
  const double tolerance = kSameLabel * (y.size() > 0 ? y.cwiseAbs().maxCoeff() : 0);
  std::vector<Conflict> conflicts;
  // Directions, turned so that the projection on a random line is positive; equal directions are neighbours
  // in the order of that projection, wherever rounding puts them.
  Vector norm = x.rowwise().norm(), line(x.cols()), place(n);
  const Matrix normals = Stream(0, "memorize line").normal_matrix(1, std::max<Index>(x.cols(), 1));
  for (Index c = 0; c < x.cols(); ++c) line(c) = normals(0, c);
  for (Index i = 0; i < n; ++i) place(i) = norm(i) > 0 ? x.row(i).dot(line) / norm(i) : 0;
  std::vector<Index> order;
  for (Index i = 0; i < n; ++i) {
    if (norm(i) > 0) {
      order.push_back(i);
    } else if (y.row(i).cwiseAbs().maxCoeff() > tolerance) {
      conflicts.push_back({i, i, 0});
    }
  }
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    const double pa = std::abs(place(a)), pb = std::abs(place(b));
    return pa != pb ? pa < pb : a < b;
  });
  const double reach = kParallel * std::max(1.0, line.norm());
  for (std::size_t s = 0; s < order.size(); ++s) {
    Index compared = 0;
    for (std::size_t t = s + 1; t < order.size() && compared < 64; ++t, ++compared) {
      Index i = std::min(order[s], order[t]), j = std::max(order[s], order[t]);
      if (std::abs(std::abs(place(order[s])) - std::abs(place(order[t]))) > reach) break;
      const double sign = (place(i) < 0) == (place(j) < 0) ? 1 : -1;
      if ((x.row(i) / norm(i) - sign * x.row(j) / norm(j)).norm() > kParallel) continue;
      double scale = sign * norm(j) / norm(i);
      if (std::abs(std::abs(scale) - 1) < 1e-14) scale = sign;
      const double factor = std::pow(scale, degree);
      if ((y.row(j) - factor * y.row(i)).cwiseAbs().maxCoeff() > tolerance * std::max(1.0, factor)) {
        conflicts.push_back({i, j, scale});
      }
    }
  }
  std::sort(conflicts.begin(), conflicts.end(), [](const Conflict& a, const Conflict& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  });
  if (static_cast<Index>(conflicts.size()) > limit) conflicts.resize(static_cast<std::size_t>(limit));
  return conflicts;
}

RowMatrix perturbed(const Eigen::Ref<const RowMatrix>& x, double sd, std::uint64_t seed) {
  if (!(sd >= 0) || !std::isfinite(sd))
    throw std::invalid_argument(fmt::format("the perturbation is {}; it must be 0 or more", sd));
  if (sd == 0) return x;
  RowMatrix noise(x.rows(), x.cols());
  Stream(seed, "memorize perturbation").fill_normal(0, noise);
  return x + sd * noise;
}

RowMatrix unit_rows(const Eigen::Ref<const RowMatrix>& x) {
  RowMatrix unit = x;
  for (Index i = 0; i < x.rows(); ++i) {
    const double norm = x.row(i).norm();
    if (norm > 0) unit.row(i) /= norm;
  }
  return unit;
}

}  // namespace exhume
