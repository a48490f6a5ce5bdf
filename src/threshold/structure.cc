#include "exhume/threshold/structure.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "exhume/error.h"
#include "exhume/moments.h"
#include "exhume/parallel.h"
#include "exhume/polynomial_fit.h"
#include "exhume/random.h"
#include "exhume/symmetric_matrix.h"
#include "exhume/threshold/objectives.h"
#include "exhume/threshold/trust_region.h"

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

// Even functions of z_i = v_i.x up to products of two, V orthonormal: 1, He_2, He_4, |z|, He_2 He_2, |z||z|.
// The order-4 moment of each is known, so a fit by them takes most of f out of the sampling noise (a control
// variate).
class EvenFit {
 public:
  EvenFit(const SampleSource& samples, Matrix V, const Control& control) : V_(std::move(V)) {
    const Index q = size();
    struct Sums {
      Matrix gram;
      Vector right;
      void merge(const Sums& other) {
        gram += other.gram;
        right += other.right;
      }
    };
    const Sums sums = reduce_blocks(samples, Sums{Matrix::Zero(q, q), Vector::Zero(q)}, control,
                                    "even features", [&](Sums& to, const SampleBlock& b) {
                                      const Matrix F = features(b.x());
                                      to.gram.noalias() += F.transpose() * F;
                                      to.right.noalias() += F.transpose() * b.y().col(0);
                                    });
    Matrix gram = sums.gram;
    gram.diagonal() *= 1 + 1e-12;
    beta_ = gram.ldlt().solve(sums.right);
  }

  [[nodiscard]] Vector evaluate(const Eigen::Ref<const RowMatrix>& x) const { return features(x) * beta_; }

  // E[fit He_4(x)], p x p.
  [[nodiscard]] Matrix order4() const {
    constexpr double c = 0.79788456080286535588;  // E|g|
    const Index k = V_.cols();
    const Matrix K = rank_one_coordinates(V_);
    Vector own = 24 * beta_.segment(1 + k, k) - c * beta_.segment(1 + 2 * k, k);
    Matrix T = Matrix::Zero(K.rows(), K.rows());
    Index at = 0;
    const Index pairs = k * (k - 1) / 2;
    for (Index j = 0; j < k; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        const double hermite = beta_(1 + 3 * k + at), absolute = beta_(1 + 3 * k + pairs + at);
        const Matrix mixed = 0.5 * (V_.col(i) * V_.col(j).transpose() + V_.col(j) * V_.col(i).transpose());
        const Vector m = to_coordinates(mixed);
        const double both = 24 * hermite + 6 * c * c * absolute;
        T += both / 3 *
             (0.5 * (K.col(i) * K.col(j).transpose() + K.col(j) * K.col(i).transpose()) +
              2 * m * m.transpose());
        own(i) -= c * c * absolute;
        own(j) -= c * c * absolute;
      }
    }
    return T + K * own.asDiagonal() * K.transpose();
  }

 private:
  [[nodiscard]] Index size() const { return 1 + 3 * V_.cols() + V_.cols() * (V_.cols() - 1); }

  [[nodiscard]] Matrix features(const Eigen::Ref<const RowMatrix>& x) const {
    const Index k = V_.cols(), pairs = k * (k - 1) / 2;
    const Matrix Z = x * V_;
    Matrix F(x.rows(), size());
    F.col(0).setOnes();
    for (Index i = 0; i < k; ++i) {
      const auto z = Z.col(i).array();
      F.col(1 + i) = z.square() - 1;
      F.col(1 + k + i) = z.square().square() - 6 * z.square() + 3;
      F.col(1 + 2 * k + i) = z.abs();
    }
    Index at = 0;
    for (Index j = 0; j < k; ++j) {
      for (Index i = 0; i < j; ++i, ++at) {
        F.col(1 + 3 * k + at) = F.col(1 + i).cwiseProduct(F.col(1 + j));
        F.col(1 + 3 * k + pairs + at) = F.col(1 + 2 * k + i).cwiseProduct(F.col(1 + 2 * k + j));
      }
    }
    return F;
  }

  Matrix V_;  // d x k
  Vector beta_;
};

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
  return out;
}

Groups correlation_groups(const SamplePtr& samples, const Control& control) {
  if (samples->outputs() != 1) throw DataError("groups are found from one output; pass one column");
  const SamplePtr light = lightened(samples, control);
  const auto linear = std::make_shared<PolynomialFit>(fit_polynomial(*light, 1, control));
  const SamplePtr residual = with_outputs(
      light, [linear](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) { y -= linear->evaluate(x); });
  return groups_of(from_coordinates(hermite_moments(*residual, 2, control).estimate(2).col(0)));
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
              throw DataError(fmt::format("output {} of row {} is negative; Theorem 9 needs positive outputs",
                                          b.y()(r, 0), b.first_row() + r + 1));
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

EvenDirections even_directions(const Matrix& order4, Index d, Index k, std::uint64_t seed) {
  if (order4.rows() != symmetric_size(d) || order4.cols() != order4.rows() || k < 1 || k > d) {
    throw std::invalid_argument(
        fmt::format("even directions: the moment is {} x {} for {} inputs and {} units", order4.rows(),
                    order4.cols(), d, k));
  }
  const Stream stream(seed, "even starts");
  EvenDirections best;
  best.worst_cosine = INFINITY;
  for (const double sign : {1.0, -1.0}) {
    LandscapeMoments moments;
    moments.M = Matrix::Identity(d, d);
    moments.T = order4;
    moments.sign = sign;
    Matrix V = stream.normal_matrix(d, 60);
    V.colwise().normalize();
    const Matrix K = rank_one_coordinates(V);
    const double scale = std::max((K.cwiseProduct(order4 * K)).colwise().sum().cwiseAbs().maxCoeff(), 1e-300);
    // With a stiff penalty the minima of the objective are those on the sphere, and only their length
    // differs.
    const double lambda = 50 * scale;
    Matrix found(d, 0);
    std::vector<double> cosines;
    for (Index s = 0; s < 60 && found.cols() < k; ++s) {
      Vector z = V.col(s);
      if (found.cols() > 0) {
        const Vector rest = z - found * (found.transpose() * z);
        if (rest.norm() > 0.1) z = rest.normalized();
      }
      const LocalMinimum minimum =
          minimise([&](const Vector& at) { return one_by_one_model(moments, lambda, 1, at); }, z);
      if (minimum.at.norm() < 0.3) continue;
      const Vector unit = minimum.at.normalized();
      const double nearest = found.cols() > 0 ? (found.transpose() * unit).cwiseAbs().maxCoeff() : 0;
      if (nearest > 0.7) continue;
      found.conservativeResize(d, found.cols() + 1);
      found.col(found.cols() - 1) = unit;
    }
    const Matrix gram = found.transpose() * found;
    double worst = found.cols() < k ? 1 + static_cast<double>(k - found.cols()) : 0;
    for (Index j = 0; j < gram.cols(); ++j) {
      for (Index i = 0; i < j; ++i) worst = std::max(worst, std::abs(gram(i, j)));
    }
    if (worst < best.worst_cosine) best = {found, sign, worst};
  }
  return best;
}

EvenDirections even_directions(const SamplePtr& samples, Index k, std::uint64_t seed,
                               const Control& control) {
  constexpr int kRounds = 6;
  const Index d = samples->inputs();
  EvenDirections found = even_directions(residualised_moments(samples, control).order4, d, k, seed);
  for (int round = 0; round < kRounds && found.directions.cols() == k; ++round) {
    // The nearest orthonormal directions, then the moment once more with most of its noise taken out.
    const Eigen::JacobiSVD<Matrix> svd(found.directions, Eigen::ComputeThinU | Eigen::ComputeThinV);
    const Matrix V = svd.matrixU() * svd.matrixV().transpose();
    const auto fit = std::make_shared<EvenFit>(*samples, V, control);
    const SamplePtr left = with_outputs(
        samples, [fit](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) { y.col(0) -= fit->evaluate(x); });
    const Matrix order4 = fit->order4() + hermite_moments(*left, 4, control).estimate(4);
    const EvenDirections next = even_directions(order4, d, k, seed);
    if (next.directions.cols() < k) break;
    found = next;
  }
  return found;
}

}  // namespace exhume
