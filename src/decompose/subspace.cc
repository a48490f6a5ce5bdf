#include "decompose/subspace.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "base/blas.h"
#include "base/random.h"
#include "engine/transfer.h"
#include "linalg/orthonormal.h"
#include "linalg/symmetric_matrix.h"

namespace exhume {
namespace {

Index dimension_of(Index coordinates) {
  Index d = 0;
  while (symmetric_size(d) < coordinates) ++d;
  return d;
}

// Y.col(s) = M_s x_s, where M_s is the symmetric matrix with coordinates P.col(s).
Matrix apply_each(const Matrix& P, const Matrix& X) {
  const Index d = X.rows();
  const double half_root = std::sqrt(0.5);
  Matrix Y = Matrix::Zero(d, X.cols());
  for (Index s = 0; s < X.cols(); ++s) {
    const double* p = P.col(s).data();
    const double* x = X.col(s).data();
    double* y = Y.col(s).data();
    for (Index b = 0; b < d; ++b) {
      double sum = 0;
      const double xb = x[b] * half_root;
      for (Index a = 0; a < b; ++a) {
        sum += p[a] * x[a];
        y[a] += p[a] * xb;
      }
      y[b] += sum * half_root + p[b] * x[b];
      p += b + 1;
    }
  }
  return Y;
}

struct Climb {
  Matrix points;  // d x s
  Vector values;  // s
};

// Climbs F from every column of X at once.
Climb climb(const Matrix& basis, Matrix X, const PowerOptions& options) {
  std::vector<Index> active(static_cast<size_t>(X.cols()));
  std::iota(active.begin(), active.end(), 0);
  Matrix done = X;
  Vector values = Vector::Zero(X.cols());
  for (int iteration = 0; iteration <= options.max_iterations && !active.empty(); ++iteration) {
    const Matrix K = rank_one_coordinates(X);
    const Matrix q = basis.transpose() * K;
    for (size_t s = 0; s < active.size(); ++s) values(active[s]) = q.col(static_cast<Index>(s)).squaredNorm();
    if (iteration == options.max_iterations) break;
    Matrix next = apply_each(basis * q, X) + options.shift * X;
    next.colwise().normalize();
    const Vector moved = (next - X).colwise().norm().transpose();
    std::vector<Index> still;
    Matrix kept(X.rows(), X.cols());
    for (size_t s = 0; s < active.size(); ++s) {
      done.col(active[s]) = next.col(static_cast<Index>(s));
      if (moved(static_cast<Index>(s)) > options.tolerance) {
        kept.col(static_cast<Index>(still.size())) = next.col(static_cast<Index>(s));
        still.push_back(active[s]);
      }
    }
    X = kept.leftCols(static_cast<Index>(still.size()));
    active = std::move(still);
  }
  return {std::move(done), std::move(values)};
}

// The same on a device, starts as rows there.
class DeviceClimb {
 public:
  DeviceClimb(Device& device, const Matrix& basis, Index starts)
      : device_(device),
        d_(dimension_of(basis.rows())),
        basis_(sent(device, basis)),
        X_(device, starts, d_),
        K_(device, starts, basis.rows()),
        q_(device, starts, basis.cols()),
        active_(device, starts, 1) {}

  Climb run(const Matrix& X, const PowerOptions& options) {
    const Matrix rows = X.transpose(), ones = Matrix::Ones(rows.rows(), 1);
    const auto part = [&](const DeviceMatrix<double>& all) {
      return all.view().block(0, 0, rows.rows(), all.view().cols);
    };
    const DeviceView<double> x = part(X_), k = part(K_), q = part(q_), active = part(active_);
    upload(device_, rows.data(), rows.rows(), x);
    upload(device_, ones.data(), rows.rows(), active);
    for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
      if (iteration % kLook == kLook - 1 && fetched(device_, active).isZero(0)) break;
      device_.pairs(x, {}, false, k);
      device_.product(1, k, false, basis_.view(), false, 0, q);
      device_.product(1, q, false, basis_.view(), true, 0, k);
      device_.climb(k, options.shift, options.tolerance, x, active);
    }
    device_.pairs(x, {}, false, k);
    device_.product(1, k, false, basis_.view(), false, 0, q);
    return {fetched(device_, x).transpose(), fetched(device_, q).rowwise().squaredNorm()};
  }

 private:
  static constexpr int kLook = 8;  // iterations after which it is asked whether any start still moves
  Device& device_;
  Index d_;
  DeviceMatrix<double> basis_, X_, K_, q_, active_;
};

// Multiplications of one iteration from which it is worth the way to a device.
constexpr double kDeviceWork = 2e6;

Matrix random_starts(const Stream& stream, Index d, Index first, Index count) {
  RowMatrix rows(count, d);
  stream.fill_normal(static_cast<std::uint64_t>(first), rows);
  rows.rowwise().normalize();
  return rows.transpose();
}

std::vector<Index> by_decreasing(const Vector& values) {
  std::vector<Index> order(static_cast<size_t>(values.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return values(i) > values(j); });
  return order;
}

}  // namespace

namespace {

// Starts in their order, many more at once there than are looked at together.
class DeviceStarts {
 public:
  DeviceStarts(Device& device, const Matrix& basis, const Stream& stream, Index limit,
               const PowerOptions& options)
      : d_(dimension_of(basis.rows())),
        limit_(limit),
        most_(std::clamp<Index>(static_cast<Index>(kStartNumbers / static_cast<double>(basis.rows())),
                                kLeastStarts, std::max(limit, kLeastStarts))),
        stream_(stream),
        options_(options),
        climb_(device, basis, most_) {}

  // Starts [first, first + count).
  Climb climbed(Index first, Index count) {
    Climb out{Matrix(d_, count), Vector(count)};
    for (Index i = 0; i < count; ++i) {
      if (first + i >= from_ + known_.values.size()) {
        from_ = first + i;
        known_ = climb_.run(random_starts(stream_, d_, from_, std::min(most_, limit_ - from_)), options_);
      }
      out.points.col(i) = known_.points.col(first + i - from_);
      out.values(i) = known_.values(first + i - from_);
    }
    return out;
  }

 private:
  static constexpr double kStartNumbers = 1e8;  // coordinates of all starts at once
  static constexpr Index kLeastStarts = 64;
  Index d_, limit_, most_, from_ = 0;
  const Stream& stream_;
  const PowerOptions& options_;
  DeviceClimb climb_;
  Climb known_;
};

}  // namespace

RankOneElements rank_one_by_restarts(const Matrix& basis, Index count, const PowerOptions& options,
                                     Device* device) {
  const SingleThreadedBlas single;
  const Index d = dimension_of(basis.rows());
  const Index limit = std::max<Index>(1, options.starts_per_unit * std::max<Index>(count, 1));
  const Index batch = std::clamp<Index>(2 * count, 8, 128);
  const Stream stream(options.seed, "power method starts");
  std::optional<DeviceStarts> there;
  if (device != nullptr && static_cast<double>(basis.size()) * static_cast<double>(batch) >= kDeviceWork)
    there.emplace(*device, basis, stream, limit, options);
  RankOneElements found;
  found.directions.resize(d, 0);
  while (found.starts < limit && found.directions.cols() < count) {
    const Index size = std::min(batch, limit - found.starts);
    const Climb top = there ? there->climbed(found.starts, size)
                            : climb(basis, random_starts(stream, d, found.starts, size), options);
    found.starts += size;
    for (const Index s : by_decreasing(top.values)) {
      if (top.values(s) < options.accept) break;
      if (among_directions(found.directions, top.points.col(s), options.repeat_cosine)) continue;
      found.directions.conservativeResize(Eigen::NoChange, found.directions.cols() + 1);
      found.directions.rightCols(1) = top.points.col(s);
      found.values.conservativeResize(found.values.size() + 1);
      found.values(found.values.size() - 1) = top.values(s);
    }
  }
  const std::vector<Index> order = by_decreasing(found.values);
  const Index keep = std::min<Index>(count, static_cast<Index>(order.size()));
  RankOneElements result;
  result.starts = found.starts;
  result.directions.resize(d, keep);
  result.values.resize(keep);
  for (Index i = 0; i < keep; ++i) {
    result.directions.col(i) = found.directions.col(order[static_cast<size_t>(i)]);
    result.values(i) = found.values(order[static_cast<size_t>(i)]);
  }
  return result;
}

PowerOptions estimated_span_options(double signal, double noise, std::uint64_t seed) {
  const double ratio = signal > 0 ? noise / signal : 1;
  PowerOptions power;
  power.seed = seed;
  power.starts_per_unit = 60;
  power.tolerance = 1e-6;
  power.accept = std::clamp(1 - 1.5 * ratio * ratio, 0.3, 0.95);
  return power;
}

bool among_directions(const Matrix& directions, const Vector& v, double cosine) {
  return directions.cols() > 0 && (directions.transpose() * v).cwiseAbs().maxCoeff() > cosine;
}

LeadingSubspace leading_subspace(const Matrix& T, const Matrix& noise, Index count) {
  const SingleThreadedBlas single;
  LeadingSubspace result;
  // Eigenvectors of the smaller Gram matrix: singular values below sqrt(eps) of the largest are noise anyway.
  const bool tall = T.rows() > T.cols();
  const Matrix gram = tall ? Matrix(T.transpose() * T) : Matrix(T * T.transpose());
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gram);
  const Matrix noise_gram = tall ? Matrix(noise.transpose() * noise) : Matrix(noise * noise.transpose());
  const Eigen::SelfAdjointEigenSolver<Matrix> noise_eigen(noise_gram, Eigen::EigenvaluesOnly);
  const Index size = gram.rows();
  result.singular_values = eigen.eigenvalues().reverse().cwiseMax(0).cwiseSqrt();
  result.noise_floor = size > 0 ? std::sqrt(std::max(0.0, noise_eigen.eigenvalues()(size - 1))) : 0;
  result.above_noise = (result.singular_values.array() > result.noise_floor).count();
  const Index keep = std::min(count < 0 ? result.above_noise : count, size);
  const Matrix vectors = eigen.eigenvectors().rightCols(keep).rowwise().reverse();
  if (tall) {
    result.basis = orthonormal_columns(T * vectors, keep);
  } else {
    result.basis = vectors;
  }
  return result;
}

}  // namespace exhume
