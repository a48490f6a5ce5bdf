#include "exhume/papers/rectified.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/blas.h"
#include "base/parallel.h"
#include "base/random.h"
#include "fit/polish.h"
#include "model/rectified_network.h"
#include "moments/moments.h"
#include "moments/standardise.h"
#include "routes/depth2.h"

namespace exhume {
namespace {

// Two candidates are one where they are less far apart (unit_distance): a cosine of 0.998.
constexpr double kSameCandidate = 0.0632455532033676;

double quantile(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Sketch of the outputs: m x s, s <= m; the identity where m is small enough.
Matrix sketch(Index outputs, const ArbitraryNoiseOptions& options) {
  const Index size = options.sketch_per_unit * options.hidden;
  if (outputs <= size) return Matrix::Identity(outputs, outputs);
  return Stream(options.seed, "sketch").normal_matrix(outputs, size) / std::sqrt(static_cast<double>(size));
}

// The direction that labels sign(mu.y - median + g) speak for.
Vector halfspace(const Matrix& X, const Matrix& SY, const Vector& mu, double smoothing, const Stream& noise,
                 Index which) {
  const Vector t = SY * mu;
  const std::vector<double> values(t.data(), t.data() + t.size());
  const double middle = quantile(values, 0.5), spread = quantile(values, 0.75) - quantile(values, 0.25);
  Vector labels(t.size());
  for (Index q = 0; q < t.size(); ++q) {
    const double g = noise.normals(static_cast<std::uint64_t>(q), static_cast<std::uint32_t>(which)).first;
    labels(q) = t(q) - middle + smoothing * spread * g > 0 ? 1.0 : -1.0;
  }
  return (X.transpose() * labels).normalized();
}

// Directions of the order-2 moments of outputs clipped to a few interquartile ranges.
Matrix spectral_directions(const Matrix& X, const Matrix& Y, Index hidden, std::uint64_t seed,
                           const Control& control) {
  Matrix clipped = Y;
  for (Index o = 0; o < Y.cols(); ++o) {
    const std::vector<double> values(Y.col(o).data(), Y.col(o).data() + Y.rows());
    const double low = quantile(values, 0.25), high = quantile(values, 0.75), reach = 2 * (high - low);
    clipped.col(o) = Y.col(o).cwiseMax(low - reach).cwiseMin(high + reach);
  }
  Depth2Options depth2;
  depth2.hidden = hidden;
  depth2.seed = seed;
  const SpectralStart start = order2_start(memory_samples(RowMatrix(X), RowMatrix(clipped)), depth2, control);
  return start.V.leftCols(X.cols());
}

// Candidate rows mu, one per column.
Matrix candidate_rows(const Matrix& X, const Matrix& SY, const Matrix& spectral,
                      const ArbitraryNoiseOptions& options) {
  const Index s = SY.cols(), count = options.budget;
  Matrix rows = Stream(options.seed, "candidate rows").normal_matrix(s, count);
  if (options.hidden > 2 && spectral.rows() > 0) {
    // Around the left inverse of the matrix that regression finds for both signs of the spectral directions.
    Matrix F(X.rows(), 2 * spectral.rows());
    F << (X * spectral.transpose()).cwiseMax(0), (-X * spectral.transpose()).cwiseMax(0);
    const Matrix C = (F.transpose() * F + 1e-9 * F.squaredNorm() * Matrix::Identity(F.cols(), F.cols()))
                         .ldlt()
                         .solve(F.transpose() * SY);
    const Matrix inverse = C.transpose().completeOrthogonalDecomposition().pseudoInverse();  // 2k x s
    for (Index i = 0; i < count; ++i) {
      const Vector centre = inverse.row(i % inverse.rows()).transpose().normalized();
      rows.col(i) = centre + (0.5 / std::sqrt(static_cast<double>(s))) * rows.col(i);
    }
  }
  rows.colwise().normalize();
  return rows;
}

// Gram matrix of all candidate units and the constant, and their products with Y.
struct Gram {
  Matrix FF, FY;
  // |P Y|^2 for the units in `chosen` and the constant.
  [[nodiscard]] double explained(std::vector<Index> chosen) const {
    chosen.push_back(FF.rows() - 1);
    Matrix G = FF(chosen, chosen);
    G.diagonal() *= 1 + 1e-10;
    const Matrix R = FY(chosen, Eigen::all);
    return R.cwiseProduct(G.ldlt().solve(R)).sum();
  }
};

std::vector<Index> choose(const Gram& gram, Index count, Index hidden, Index& compared) {
  std::vector<Index> best;
  double most = -1;
  const auto offer = [&](const std::vector<Index>& set) {
    ++compared;
    const double value = gram.explained(set);
    if (value <= most) return false;
    most = value;
    best = set;
    return true;
  };
  if (hidden == 1) {
    for (Index i = 0; i < count; ++i) offer({i});
    return best;
  }
  if (hidden == 2) {
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < i; ++j) offer({i, j});
    }
    return best;
  }
  for (Index step = 0; step < std::min(hidden, count); ++step) {
    const std::vector<Index> base = std::exchange(best, {});
    most = -1;
    for (Index i = 0; i < count; ++i) {
      if (std::find(base.begin(), base.end(), i) != base.end()) continue;
      std::vector<Index> set = base;
      set.push_back(i);
      offer(set);
    }
  }
  for (bool better = true; better;) {
    better = false;
    for (size_t place = 0; place < best.size(); ++place) {
      for (Index i = 0; i < count; ++i) {
        if (std::find(best.begin(), best.end(), i) != best.end()) continue;
        std::vector<Index> set = best;
        set[place] = i;
        better = offer(set) || better;
      }
    }
  }
  return best;
}

}  // namespace

ArbitraryNoiseFit fit_arbitrary_noise(const SamplePtr& samples, const ArbitraryNoiseOptions& options,
                                      const Control& control) {
  if (options.hidden < 1 || options.budget < 1) {
    throw std::invalid_argument(fmt::format(
        "arbitrary noise: hidden is {} and budget {}, expected at least 1", options.hidden, options.budget));
  }
  const SingleThreadedBlas single;
  const Standardisation coordinates = standardise(second_moments(*samples, control));
  // Inputs standardised, outputs as they are: their variance says little under heavy tails.
  AffineMap map = coordinates.map;
  map.D.setOnes();
  map.nu.setZero();
  const SamplePtr standard = load(*affine(samples, map));
  const Index n = standard->rows(), d = standard->inputs(), m = standard->outputs();
  SampleBlock block;
  standard->read(0, n, block);
  const Matrix X = block.x(), Y = block.y();
  const Matrix SY = Y * sketch(m, options);

  Matrix spectral(0, d);
  if (options.hidden > 2) spectral = spectral_directions(X, Y, options.hidden, options.seed, control);
  const Matrix rows = candidate_rows(X, SY, spectral, options);
  std::vector<Vector> directions;
  const auto offer = [&](const Vector& v) {
    if (!v.allFinite()) return;
    const bool twice = std::any_of(directions.begin(), directions.end(), [&](const Vector& other) {
      return unit_distance(other, v, false) < kSameCandidate;
    });
    if (!twice) directions.push_back(v);
  };
  for (Index i = 0; i < spectral.rows(); ++i) {
    offer(spectral.row(i).normalized());
    offer(-spectral.row(i).normalized());
  }
  const Stream noise(options.seed, "smoothing");
  for (Index i = 0; i < rows.cols() && !control.out_of_time(); ++i) {
    control.check();
    control.report("candidates", static_cast<double>(i) / static_cast<double>(rows.cols()));
    offer(halfspace(X, SY, rows.col(i), options.smoothing, noise, i));
  }

  const Index count = static_cast<Index>(directions.size());
  Matrix W(count, d);
  for (Index i = 0; i < count; ++i) W.row(i) = directions[static_cast<size_t>(i)];
  const Rectifier relu = rectified_power(1);
  Matrix F(n, count + 1);
  F.leftCols(count) = hidden_outputs(W, Vector::Zero(count), relu, RowMatrix(X));
  F.col(count).setOnes();
  const Gram gram{F.transpose() * F, F.transpose() * Y};
  ArbitraryNoiseFit out;
  out.candidates = count;
  const std::vector<Index> chosen = choose(gram, count, options.hidden, out.chosen_from);

  Form model = one_layer(Matrix::Zero(static_cast<Index>(chosen.size()), d + 1));
  model.plain = true;
  for (size_t i = 0; i < chosen.size(); ++i) model.V[0].row(static_cast<Index>(i)).head(d) = W.row(chosen[i]);
  PolishOptions polish_options;
  polish_options.block_rows = kBlockRows;
  if (options.polish) {
    polish_options.max_iterations = 20;
    polish_options.least_progress = 1e-7;
    model = polish(model, *standard, polish_options, control).form;
  }
  out.relative_mse = fit_linear_part(model, *standard, polish_options, control);
  Standardisation back = coordinates;
  back.map = map;
  out.network = back.to_user(to_network(model));
  out.residual_norm = (evaluate(model, block.x()) - block.y()).norm();
  return out;
}

}  // namespace exhume
