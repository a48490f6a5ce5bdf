#include "exhume/papers/rectified.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/blas.h"
#include "base/random.h"
#include "linalg/orthonormal.h"

namespace exhume {
namespace {

Matrix orthonormal(const Matrix& M) { return orthonormal_columns(M, M.cols()); }

Matrix shrunk(const Matrix& M, double by) {
  return M.unaryExpr([by](double v) { return v > by ? v - by : (v < -by ? v + by : 0.0); });
}

// Largest singular value, by power iteration.
double spectral_norm(const Matrix& M, std::uint64_t seed) {
  Vector v = Stream(seed, "spectral norm").normal_matrix(M.cols(), 1).col(0).normalized();
  double value = 0;
  for (int i = 0; i < 30; ++i) {
    const Vector u = M * v;
    value = u.norm();
    if (value == 0) return 0;
    v = (M.transpose() * u).normalized();
  }
  return value;
}

// The low-rank part of the outputs from clean entries only: U (m x r) and coordinates C (n x r), alternating.
class CleanFit {
 public:
  CleanFit(const Eigen::Ref<const RowMatrix>& y, Matrix U, const Matrix& E, double scale, double clean,
           std::uint64_t seed)
      : y_(y),
        U_(std::move(U)),
        scale_(scale),
        clean_(clean),
        hit_(y.rows(), y.cols()),
        entries_(seed, "clean entries"),
        samples_(seed, "clean samples") {
    // Pursuit knows an entry to its own tolerance.
    for (Index j = 0; j < y.cols(); ++j) {
      for (Index i = 0; i < y.rows(); ++i) hit_(i, j) = std::abs(E(i, j)) > 1e-4 * scale;
    }
  }

  // One round; returns the largest misfit of an entry that counts as clean, relative.
  double round() {
    solve_samples();
    solve_outputs();
    solve_samples();
    const RowMatrix misfit = (y_ - C_ * U_.transpose()).cwiseAbs() / scale_;
    // The bulk of the clean entries tells how good the fit is by now; hit entries stand far above it.
    std::vector<double> sizes;
    for (Index i = 0; i < misfit.rows(); i += std::max<Index>(1, misfit.rows() / 2000)) {
      for (Index j = 0; j < misfit.cols(); ++j) {
        if (!hit_(i, j)) sizes.push_back(misfit(i, j));
      }
    }
    const auto high = sizes.begin() + static_cast<std::ptrdiff_t>(0.9 * static_cast<double>(sizes.size()));
    if (!sizes.empty()) std::nth_element(sizes.begin(), high, sizes.end());
    const double level = sizes.empty() ? 0 : std::max(clean_, 100 * *high);
    double worst = 0;
    for (Index i = 0; i < misfit.rows(); ++i) {
      for (Index j = 0; j < misfit.cols(); ++j) {
        hit_(i, j) = misfit(i, j) > level;
        if (!hit_(i, j)) worst = std::max(worst, misfit(i, j));
      }
      if (2 * hit_.row(i).count() <= y_.cols()) continue;
      hit_.row(i) = vote(U_, y_.row(i).transpose(), hit_.row(i).transpose(), level, entries_, i).transpose();
    }
    for (Index j = 0; j < misfit.cols(); ++j) {
      if (2 * hit_.col(j).count() > y_.rows())
        hit_.col(j) = vote(C_, y_.col(j), hit_.col(j), level, samples_, j);
    }
    return worst;
  }

  // Are most entries of every output, and of every sample, clean? Otherwise some were given up, not
  // explained.
  [[nodiscard]] bool plausible() const {
    for (Index j = 0; j < hit_.cols(); ++j) {
      if (2 * hit_.col(j).count() > hit_.rows()) return false;
    }
    for (Index i = 0; i < hit_.rows(); ++i) {
      if (2 * hit_.row(i).count() > hit_.cols()) return false;
    }
    return true;
  }
  [[nodiscard]] RowMatrix cleaned() const { return C_ * U_.transpose(); }
  [[nodiscard]] bool hit(Index i, Index j) const { return hit_(i, j); }

 private:
  using Flags = Eigen::Array<bool, Eigen::Dynamic, 1>;

  // Which entries of a sample, or of an output, are hit, where most of them misfit: hit ones were taken for
  // clean. Few entries, drawn at random, are all clean soon; the draw with which most entries agree is.
  // `basis`: a row for every entry; `hit`: what is believed so far; draws are those of number `which` of the
  // stream.
  Flags vote(const Matrix& basis, const Vector& entries, Flags hit, double level, const Stream& stream,
             Index which) const {
    constexpr int kDraws = 60;
    const Index size = entries.size(), r = basis.cols();
    Index most = size - hit.count();
    for (int draw = 0; draw < kDraws; ++draw) {
      Matrix part(r, r);
      Vector right(r);
      for (Index q = 0; q < r; ++q) {
        const auto place = static_cast<std::uint64_t>((which * kDraws + draw) * r + q);
        const auto at = static_cast<Index>(stream.below(static_cast<std::uint64_t>(size), place));
        part.row(q) = basis.row(at);
        right(q) = entries(at);
      }
      const Vector c = part.fullPivLu().solve(right);
      // A small draw magnifies what is still wrong with the basis.
      const Flags misses = (entries - basis * c).cwiseAbs().array() / scale_ > 30 * level;
      if (size - misses.count() <= most) continue;
      most = size - misses.count();
      hit = misses;
    }
    return hit;
  }

  // Coordinates of every sample from its clean entries.
  void solve_samples() {
    const Index n = y_.rows(), m = y_.cols(), r = U_.cols();
    C_ = y_ * U_;  // right where nothing was hit, U orthonormal
    for (Index i = 0; i < n; ++i) {
      std::vector<Index> kept;
      for (Index j = 0; j < m; ++j) {
        if (!hit_(i, j)) kept.push_back(j);
      }
      if (static_cast<Index>(kept.size()) == m) continue;
      if (static_cast<Index>(kept.size()) < r) {
        C_.row(i).setZero();
        continue;
      }
      const Matrix part = U_(kept, Eigen::all);
      Vector right(static_cast<Index>(kept.size()));
      for (size_t q = 0; q < kept.size(); ++q) right(static_cast<Index>(q)) = y_(i, kept[q]);
      C_.row(i) = part.householderQr().solve(right).transpose();
    }
  }

  // The subspace from the clean entries of every output.
  void solve_outputs() {
    const Index n = y_.rows(), m = y_.cols();
    const Matrix gram = C_.transpose() * C_;
    Matrix next(m, U_.cols());
    for (Index j = 0; j < m; ++j) {
      Matrix G = gram;
      Vector right = C_.transpose() * y_.col(j);
      for (Index i = 0; i < n; ++i) {
        if (!hit_(i, j)) continue;
        G.noalias() -= C_.row(i).transpose() * C_.row(i);
        right -= y_(i, j) * C_.row(i).transpose();
      }
      next.row(j) = G.ldlt().solve(right).transpose();
    }
    U_ = orthonormal(next);
  }

  const Eigen::Ref<const RowMatrix>& y_;
  Matrix U_, C_;
  double scale_, clean_;
  Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic> hit_;
  Stream entries_, samples_;  // draws of a sample's entries, and of an output's samples
};

}  // namespace

PartialSvd partial_svd(const Matrix& M, double floor, const Matrix& guess, std::uint64_t seed) {
  const Index most = std::min(M.rows(), M.cols());
  constexpr Index kSpare = 6;
  constexpr int kPasses = 3;
  Index width = std::min(most, guess.cols() + kSpare);
  while (true) {
    Matrix start = Stream(seed, "partial svd").normal_matrix(M.cols(), width);
    if (guess.cols() > 0)
      start.leftCols(std::min(width, guess.cols())) = guess.leftCols(std::min(width, guess.cols()));
    Matrix Q = orthonormal(M * start);
    for (int pass = 0; pass < kPasses; ++pass) Q = orthonormal(M * orthonormal(M.transpose() * Q));
    const Matrix small = M.transpose() * Q;  // n x width
    const Eigen::HouseholderQR<Matrix> qr(small);
    const Matrix R = qr.matrixQR().topRows(width).triangularView<Eigen::Upper>();
    const Eigen::JacobiSVD<Matrix> svd(R, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Index count = (svd.singularValues().array() > floor).count();
    if (count < width || width == most) {
      PartialSvd out;
      out.values = svd.singularValues().head(count);
      out.V = orthonormal_columns(small, width) * svd.matrixU().leftCols(count);
      out.U = Q * svd.matrixV().leftCols(count);
      return out;
    }
    width = std::min(most, 2 * width);
  }
}

Pursuit principal_component_pursuit(const Matrix& Y, const PursuitOptions& options, const Control& control) {
  const SingleThreadedBlas single;
  Pursuit out;
  out.E = Matrix::Zero(Y.rows(), Y.cols());
  out.L = out.E;
  const double size = Y.norm(), spectral = spectral_norm(Y, options.seed);
  if (size == 0) {
    out.converged = true;
    return out;
  }
  const double lambda =
      options.lambda > 0 ? options.lambda : 1 / std::sqrt(static_cast<double>(std::max(Y.rows(), Y.cols())));
  Matrix Z = Y / std::max(spectral, Y.cwiseAbs().maxCoeff() / lambda);
  double mu = 1.25 / spectral;
  const double most = 1e7 * mu;
  Matrix guess(Y.cols(), 0);
  while (out.iterations < options.max_iterations && !out.converged && !control.out_of_time()) {
    control.check();
    control.report("pursuit", static_cast<double>(out.iterations) / options.max_iterations);
    ++out.iterations;
    const PartialSvd svd = partial_svd(Y - out.E + Z / mu, 1 / mu, guess, options.seed);
    out.rank = svd.values.size();
    out.L = svd.U * (svd.values.array() - 1 / mu).matrix().asDiagonal() * svd.V.transpose();
    guess = svd.V;
    out.E = shrunk(Y - out.L + Z / mu, lambda / mu);
    const Matrix left = Y - out.L - out.E;
    Z += mu * left;
    mu = std::min(1.5 * mu, most);
    out.converged = left.norm() <= options.tolerance * size;
  }
  return out;
}

CleanOutputs clean_outputs(const Eigen::Ref<const RowMatrix>& y, const CleanOptions& options,
                           const Control& control) {
  const SingleThreadedBlas single;
  CleanOutputs out;
  out.pursuit = principal_component_pursuit(y, options.pursuit, control);
  const double scale = out.pursuit.L.norm() / std::sqrt(static_cast<double>(std::max<Index>(y.size(), 1)));
  // Directions of L that stand above the tolerance of the pursuit.
  const PartialSvd svd = partial_svd(out.pursuit.L.transpose(), 0, Matrix(y.rows(), 0), options.pursuit.seed);
  while (out.rank < svd.values.size() && svd.values(out.rank) > 1e-4 * svd.values(0)) ++out.rank;
  if (out.rank == 0 || scale == 0) return out;
  CleanFit fit(y, svd.U.leftCols(out.rank), out.pursuit.E, scale, options.clean, options.pursuit.seed);
  double before = 1;
  for (int round = 0; round < options.rounds; ++round) {
    control.check();
    out.worst_clean = fit.round();
    out.exact = out.worst_clean <= options.clean && fit.plausible();
    // On to rounding: every round is worth it while it halves the misfit.
    if (round > 0 && out.exact && out.worst_clean > 0.5 * before) break;
    before = out.worst_clean;
  }
  out.y = fit.cleaned();
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      if (fit.hit(i, j)) out.support.emplace_back(i, j);
    }
  }
  out.pursuit.L.resize(0, 0);
  out.pursuit.E.resize(0, 0);
  return out;
}

}  // namespace exhume
