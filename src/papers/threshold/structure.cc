#include "papers/threshold/structure.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "base/blas.h"
#include "base/random.h"
#include "data/reduce.h"
#include "decompose/subspace.h"
#include "exhume/error.h"
#include "linalg/symmetric_matrix.h"
#include "moments/moments.h"
#include "papers/threshold/even_fit.h"
#include "papers/threshold/objectives.h"
#include "papers/threshold/trust_region.h"
#include "routes/depth2.h"

namespace exhume {
namespace {

std::vector<std::vector<Index>> components(const Matrix& correlations, double threshold) {
  const Index d = correlations.rows();
  std::vector<Index> label(static_cast<std::size_t>(d), -1);
  std::vector<std::vector<Index>> out;
  for (Index first = 0; first < d; ++first) {
    if (label[static_cast<std::size_t>(first)] >= 0) continue;
    std::vector<Index> group{first};
    label[static_cast<std::size_t>(first)] = first;
    for (std::size_t at = 0; at < group.size(); ++at) {
      for (Index j = 0; j < d; ++j) {
        if (label[static_cast<std::size_t>(j)] >= 0 || correlations(group[at], j) <= threshold) continue;
        label[static_cast<std::size_t>(j)] = first;
        group.push_back(j);
      }
    }
    out.push_back(std::move(group));
  }
  return out;
}

double mean_to(const Matrix& correlations, Index i, const std::vector<Index>& group) {
  double sum = 0, count = 0;
  for (const Index j : group) {
    if (j == i) continue;
    sum += correlations(i, j);
    count += 1;
  }
  return count > 0 ? sum / count : -INFINITY;
}

// log y where all outputs are positive. Any increasing function of f keeps the groups, and the logarithm has
// light tails where f, a sum of exponentials, has very heavy ones.
SamplePtr lightened(const SamplePtr& samples, const Control& control) {
  struct Least {
    double value = INFINITY;
    void merge(const Least& other) { value = std::min(value, other.value); }
  };
  const Least least = reduce_blocks(*samples, Least{}, control, "", [](Least& to, const SampleBlock& b) {
    to.value = std::min(to.value, b.y().minCoeff());
  });
  if (!(least.value > 0)) return samples;
  return with_outputs(samples, [](const Eigen::Ref<const RowMatrix>&, RowMatrix& y) { y = y.array().log(); });
}

double contrast_of(const Matrix& correlations, const std::vector<std::vector<Index>>& groups) {
  const Index d = correlations.rows();
  std::vector<Index> group(static_cast<std::size_t>(d), -1);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const Index i : groups[g]) group[static_cast<std::size_t>(i)] = static_cast<Index>(g);
  }
  double least = INFINITY, most = -INFINITY, sums[2] = {0, 0}, counts[2] = {0, 0};
  for (Index j = 0; j < d; ++j) {
    for (Index i = 0; i < j; ++i) {
      const Index home = group[static_cast<std::size_t>(i)];
      const bool within = home >= 0 && home == group[static_cast<std::size_t>(j)];
      if (within) least = std::min(least, correlations(i, j));
      if (!within) most = std::max(most, correlations(i, j));
      sums[within] += correlations(i, j);
      counts[within] += 1;
    }
  }
  if (counts[0] == 0 || counts[1] == 0) return 0;
  return (least - most) / std::max(std::abs(sums[1] / counts[1] - sums[0] / counts[0]), kTiny);
}

void tidy(Groups& out) {
  auto& groups = out.groups;
  groups.erase(std::remove_if(groups.begin(), groups.end(), [](const auto& g) { return g.size() < 2; }),
               groups.end());
  for (auto& group : groups) std::sort(group.begin(), group.end());
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
}

}  // namespace

Groups groups_of(const Matrix& correlations) {
  const Index d = correlations.rows();
  if (correlations.cols() != d || d < 2) {
    throw std::invalid_argument(fmt::format(
        "groups: the correlations are {} x {}, but must be square, 2 x 2 or larger", d, correlations.cols()));
  }
  std::vector<double> values;
  for (Index j = 0; j < d; ++j) {
    for (Index i = 0; i < j; ++i) values.push_back(correlations(i, j));
  }
  std::sort(values.begin(), values.end());
  double gap = -1, threshold = values.back();
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    if (values[i + 1] - values[i] > gap)
      gap = values[i + 1] - values[i], threshold = 0.5 * (values[i] + values[i + 1]);
  }
  // Noise can put the largest gap among the top values; the middle between the two means of a two-class split
  // is safer.
  double low = values.front(), high = values.back();
  for (int round = 0; round < 50; ++round) {
    const double middle = 0.5 * (low + high);
    double sums[2] = {0, 0}, counts[2] = {0, 0};
    for (const double v : values) sums[v > middle] += v, counts[v > middle] += 1;
    if (counts[0] == 0 || counts[1] == 0) break;
    low = sums[0] / counts[0];
    high = sums[1] / counts[1];
  }
  const double middle = 0.5 * (low + high);
  const double span = values.back() - values.front();
  Groups out;
  out.gap = span > 0 ? gap / span : 0;
  // A gap that is most of the distance between the classes is believed; otherwise the split in the middle.
  if (!(gap > 0.25 * (high - low) && threshold > low && threshold < high)) threshold = middle;
  out.groups = components(correlations, threshold);
  for (int round = 0; round < 20; ++round) {
    bool moved = false;
    for (Index i = 0; i < d; ++i) {
      std::size_t home = 0, best = 0;
      double most = -INFINITY;
      for (std::size_t g = 0; g < out.groups.size(); ++g) {
        const auto& group = out.groups[g];
        if (std::find(group.begin(), group.end(), i) != group.end()) home = g;
        if (const double mean = mean_to(correlations, i, group); mean > most) most = mean, best = g;
      }
      if (best == home || most <= middle) continue;
      std::erase(out.groups[home], i);
      out.groups[best].push_back(i);
      moved = true;
    }
    if (!moved) break;
  }
  tidy(out);
  out.contrast = contrast_of(correlations, out.groups);
  return out;
}

Groups correlation_groups(const SamplePtr& samples, const Control& control) {
  const SingleThreadedBlas single;
  if (samples->outputs() != 1) throw DataError("groups are found from one output; pass one column");
  const SamplePtr light = lightened(samples, control);
  const SamplePtr left = residualised(light, 1, control);
  return groups_of(from_coordinates(hermite_moments(*left, 2, control).estimate(2).col(0)));
}

Groups exponential_groups(const SamplePtr& samples, const ExponentialOptions& options,
                          const Control& control) {
  if (samples->outputs() != 1) throw DataError("groups are found from one output; pass one column");
  const Index d = samples->inputs();
  struct Tilted {
    Matrix weighted;  // d x starts: sum of weight * x
    Vector weight;    // starts
    void merge(const Tilted& other) {
      weighted += other.weighted;
      weight += other.weight;
    }
  };
  Matrix Z = options.tau * Matrix::Identity(d, d);
  for (int step = 0; step < options.steps; ++step) {
    const Vector half = 0.5 * Z.colwise().squaredNorm().transpose();
    const Tilted sums = reduce_blocks(
        *samples, Tilted{Matrix::Zero(d, d), Vector::Zero(d)}, control, "tilted means",
        [&](Tilted& to, const SampleBlock& b) {
          RowMatrix weight = b.x() * Z;
          weight.rowwise() -= half.transpose();
          weight = weight.array().exp();
          for (Index r = 0; r < b.rows(); ++r) {
            if (!(b.y()(r, 0) >= 0)) {
              throw DataError(fmt::format(
                  "output {} of row {} (counting from 0) is negative; Theorem 9 needs positive outputs",
                  b.y()(r, 0), b.first_row() + r));
            }
            weight.row(r) *= std::pow(b.y()(r, 0), options.power);
          }
          to.weighted.noalias() += b.x().transpose() * weight;
          to.weight += weight.colwise().sum().transpose();
        });
    Matrix next = sums.weighted * sums.weight.cwiseInverse().asDiagonal() - Z;
    if (options.steps == 1) return groups_of(0.5 * (next + next.transpose()));
    for (Index s = 0; s < d; ++s) {
      const double most = next.col(s).maxCoeff();
      if (!(most > 0)) {
        next.col(s) = Z.col(s);
        continue;
      }
      next.col(s) = (next.col(s).array() - options.lambda * most).max(0);
      next.col(s) *= options.tau / next.col(s).norm();
    }
    const double change = (next - Z).cwiseAbs().maxCoeff();
    Z = next;
    if (change < 1e-6) break;
  }
  Groups out;
  for (Index s = 0; s < d; ++s) {
    std::vector<Index> group;
    for (Index j = 0; j < d; ++j) {
      if (Z(j, s) > 0.5 * Z.col(s).maxCoeff()) group.push_back(j);
    }
    out.groups.push_back(std::move(group));
  }
  tidy(out);
  return out;
}

namespace {

// The directions of one sign, at most k of them, with the largest |cos| between two.
EvenDirections climb(const Matrix& order4, Index d, Index k, double sign, std::uint64_t seed) {
  constexpr Index kStarts = 60;
  constexpr double kSameDirection = 0.7;  // |cos| above which two maxima are one: true ones are orthogonal
  LandscapeMoments moments;
  moments.M = Matrix::Identity(d, d);
  moments.T = order4;
  moments.sign = sign;
  Matrix V = Stream(seed, "even starts").normal_matrix(d, kStarts);
  V.colwise().normalize();
  const Matrix K = rank_one_coordinates(V);
  const double scale = std::max((K.cwiseProduct(order4 * K)).colwise().sum().cwiseAbs().maxCoeff(), kTiny);
  // With a stiff penalty the minima of the objective are those on the sphere, and only their length differs.
  const double lambda = 50 * scale;
  Matrix found(d, 0);
  for (Index s = 0; s < kStarts && found.cols() < k; ++s) {
    Vector z = V.col(s);
    if (found.cols() > 0) {
      const Vector rest = z - found * (found.transpose() * z);
      if (rest.norm() > 0.1) z = rest.normalized();
    }
    const LocalMinimum minimum =
        minimise([&](const Vector& at) { return one_by_one_model(moments, lambda, 1, at); }, z);
    if (minimum.at.norm() < 0.3) continue;
    const Vector unit = minimum.at.normalized();
    if (among_directions(found, unit, kSameDirection)) continue;
    found.conservativeResize(d, found.cols() + 1);
    found.col(found.cols() - 1) = unit;
  }
  EvenDirections out{found, sign};
  const Matrix gram = found.transpose() * found;
  for (Index j = 0; j < gram.cols(); ++j) {
    for (Index i = 0; i < j; ++i) out.worst_cosine = std::max(out.worst_cosine, std::abs(gram(i, j)));
  }
  return out;
}

// Orthonormal directions turned in pairs until sign * sum_i T(v_i, v_i, v_i, v_i) is largest, as in
// independent component analysis: each pair by a search over its angle.
Matrix turned_in_pairs(const Matrix& order4, Matrix V, double sign) {
  constexpr int kSweeps = 30, kAngles = 90;
  const Index k = V.cols();
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double largest = 0;
    for (Index j = 0; j < k; ++j) {
      for (Index i = 0; i < j; ++i) {
        const Vector a = V.col(i), b = V.col(j);
        const Vector aa = rank_one_coordinates(Matrix(a)).col(0), bb = rank_one_coordinates(Matrix(b)).col(0);
        const Vector ab = pair_coordinates(a, b);
        const Vector Taa = order4 * aa, Tbb = order4 * bb;
        // T(a^4-m, b^m) times the binomial coefficient.
        const double t[] = {aa.dot(Taa), 4 * ab.dot(Taa), 6 * bb.dot(Taa), 4 * ab.dot(Tbb), bb.dot(Tbb)};
        const auto along = [&](double c, double s) {
          return c * c * c * c * t[0] + c * c * c * s * t[1] + c * c * s * s * t[2] + c * s * s * s * t[3] +
                 s * s * s * s * t[4];
        };
        const auto value = [&](double angle) {
          const double c = std::cos(angle), s = std::sin(angle);
          return sign * (along(c, s) + along(-s, c));
        };
        constexpr double kStep = std::numbers::pi / 2 / kAngles;
        double best = 0;
        for (int m = -kAngles / 2; m <= kAngles / 2; ++m) {
          if (value(m * kStep) > value(best)) best = m * kStep;
        }
        const double left = value(best - kStep), here = value(best), right = value(best + kStep);
        if (const double bend = left - 2 * here + right; bend < 0)
          best += std::clamp(0.5 * (left - right) / bend, -1.0, 1.0) * kStep;
        if (!(value(best) > value(0))) continue;
        largest = std::max(largest, std::abs(best));
        V.col(i) = std::cos(best) * a + std::sin(best) * b;
        V.col(j) = -std::sin(best) * a + std::cos(best) * b;
      }
    }
    if (largest < 1e-6) break;
  }
  return V;
}

}  // namespace

EvenDirections even_directions(const Matrix& order4, Index d, Index k, std::uint64_t seed) {
  if (order4.rows() != symmetric_size(d) || order4.cols() != order4.rows() || k < 1 || k > d) {
    throw std::invalid_argument(
        fmt::format("even directions: the moment is {} x {} for {} inputs and {} units", order4.rows(),
                    order4.cols(), d, k));
  }
  const EvenDirections up = climb(order4, d, k, 1, seed), down = climb(order4, d, k, -1, seed);
  if (up.directions.cols() != down.directions.cols())
    return up.directions.cols() > down.directions.cols() ? up : down;
  return up.worst_cosine <= down.worst_cosine ? up : down;
}

EvenDirections even_directions(const SamplePtr& samples, Index k, std::uint64_t seed,
                               const Control& control) {
  constexpr int kLooks = 4, kRounds = 12;
  const SingleThreadedBlas single;
  if (samples->outputs() != 1) throw DataError("even directions are found from one output; pass one column");
  const Index d = samples->inputs();
  if (k < 1 || k > d) {
    throw std::invalid_argument(fmt::format("k is {}, but must be from 1 to {}, the number of inputs", k, d));
  }
  const ResidualisedMoments moments = residualised_moments(samples, control);
  // Order 2, where its eigenvalues differ.
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(from_coordinates(moments.order2.col(0)));
  std::vector<Index> order(static_cast<std::size_t>(d));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::abs(eigen.eigenvalues()(a)) > std::abs(eigen.eigenvalues()(b));
  });
  EvenDirections second{Matrix(d, k), 0};
  for (Index i = 0; i < k; ++i)
    second.directions.col(i) = eigen.eigenvectors().col(order[static_cast<std::size_t>(i)]);
  std::vector<EvenDirections> candidates;
  for (const double sign : {1.0, -1.0})
    candidates.push_back({turned_in_pairs(moments.order4, second.directions, sign), sign});
  candidates.push_back(second);
  for (const double sign : {1.0, -1.0}) candidates.push_back(climb(moments.order4, d, k, sign, seed));

  // A few steps from each, then the one that leaves least to the end.
  EvenDirections best;
  best.directions.resize(d, 0);
  best.misfit = INFINITY;
  EvenFit best_fit;
  for (EvenDirections& candidate : candidates) {
    if (candidate.directions.cols() < k) continue;
    EvenFit fit;
    fit.V = candidate.directions;
    for (int round = 0; round < kLooks; ++round) fit = even_fit_step(*samples, fit, control);
    if (!(fit.misfit < best.misfit)) continue;
    best = candidate;
    best.misfit = fit.misfit;
    best_fit = fit;
    if (fit.misfit < 1e-3 && fit.moved < 1e-2) break;
  }
  if (best.directions.cols() < k) return best;
  for (int round = 0; round < kRounds && best_fit.moved > 1e-12; ++round)
    best_fit = even_fit_step(*samples, best_fit, control);
  best.directions = best_fit.V;
  best.misfit = best_fit.misfit;
  return best;
}

}  // namespace exhume
