#include "extract/moves/sharpen_single_layer.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "certify/stored_precision.h"
#include "exhume/samples.h"
#include "extract/evidence.h"
#include "fit/fit.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct LastDigitsLimits {
  int steps = 2;
  double most_work = 3e11;  // n m p^2
  // A step that raises the sum of squares by more than this factor is not taken.
  double most_rise = 1.1;
};
constexpr LastDigitsLimits kLastDigits;

// Rows i m + o; unknowns unit by unit: w without its largest entry, b, c; then L^T and e.
struct Linearised {
  Matrix J;
  Vector residual;
};

Linearised linearise(const SeparableModel& model, const RowMatrix& u, const RowMatrix& y, const Vector& noise,
                     const std::vector<Index>& fixed) {
  const Index n = u.rows(), s = u.cols(), m = y.cols(), k = model.units(), each = s + m;
  Linearised out{Matrix::Zero(n * m, k * each + (s + 1) * m), Vector(n * m)};
  const RowMatrix left = y - evaluate(model, u);
  Matrix z = u * model.V.leftCols(s).transpose();
  z.rowwise() += model.V.col(s).transpose();
  for (Index i = 0; i < n; ++i) {
    const double weight = 1 / noise(i);
    for (Index o = 0; o < m; ++o) {
      const Index row = i * m + o;
      out.residual(row) = weight * left(i, o);
      for (Index j = 0; j < k; ++j) {
        const Index at = j * each, skip = fixed[static_cast<std::size_t>(j)];
        const double slope = weight * model.C(j, o) * (z(i, j) < 0 ? -1 : 1);
        for (Index a = 0, column = at; a < s; ++a) {
          if (a != skip) out.J(row, column++) = slope * u(i, a);
        }
        out.J(row, at + s - 1) = slope;
        out.J(row, at + s + o) = weight * std::abs(z(i, j));
      }
      for (Index a = 0; a < s; ++a) out.J(row, k * each + a * m + o) = weight * u(i, a);
      out.J(row, k * each + s * m + o) = weight;
    }
  }
  return out;
}

SeparableModel moved(const SeparableModel& model, const Vector& step, const std::vector<Index>& fixed) {
  const Index s = model.inputs(), m = model.C.cols(), k = model.units(), each = s + m;
  SeparableModel out = model;
  for (Index j = 0; j < k; ++j) {
    const Index at = j * each;
    for (Index a = 0, column = at; a < s; ++a) {
      if (a != fixed[static_cast<std::size_t>(j)]) out.V(j, a) += step(column++);
    }
    out.V(j, s) += step(at + s - 1);
    out.C.row(j) += step.segment(at + s, m).transpose();
  }
  for (Index a = 0; a <= s; ++a) out.C.row(k + a) += step.segment(k * each + a * m, m).transpose();
  return out;
}

double weighted_squares(const SeparableModel& model, const RowMatrix& u, const RowMatrix& y,
                        const Vector& noise) {
  return (noise.cwiseInverse().asDiagonal() * (y - evaluate(model, u))).squaredNorm();
}

}  // namespace

SeparableModel sharpen_last_digits(const SeparableModel& model, const RowMatrix& u, const RowMatrix& y,
                                   const Vector& noise, const Control& control) {
  const Index n = u.rows(), s = u.cols(), m = y.cols(), k = model.units();
  const auto p = static_cast<double>(k * (s + m) + (s + 1) * m);
  const auto rows = static_cast<double>(n * m);
  if (k == 0 || rows < p || rows * p * p > kLastDigits.most_work) return model;
  SeparableModel best = model;
  double left = weighted_squares(best, u, y, noise);
  for (int step = 0; step < kLastDigits.steps; ++step) {
    control.check();
    std::vector<Index> fixed(static_cast<std::size_t>(k));
    for (Index j = 0; j < k; ++j)
      best.V.row(j).head(s).cwiseAbs().maxCoeff(&fixed[static_cast<std::size_t>(j)]);
    Linearised at = linearise(best, u, y, noise, fixed);
    const Vector norms = at.J.colwise().norm().cwiseMax(kTiny);
    at.J = at.J * norms.cwiseInverse().asDiagonal();
    const Eigen::HouseholderQR<Eigen::Ref<Matrix>> qr(at.J);
    const Vector solved = qr.solve(at.residual);
    if (!solved.allFinite()) break;
    SeparableModel next = moved(best, norms.cwiseInverse().asDiagonal() * solved, fixed);
    const double value = weighted_squares(next, u, y, noise);
    if (!(value <= kLastDigits.most_rise * left)) break;
    best = std::move(next);
    left = value;
  }
  for (Index j = 0; j < k; ++j) {
    const double norm = best.V.row(j).head(s).norm();
    best.V.row(j) /= norm;
    best.C.row(j) *= norm;
  }
  return best;
}

namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct AverageLimits {
  double equations = 1.5;  // for every unknown
  Index reserve = 2000;    // queries left for the last check
  int newton_steps = 3, gradient_steps = 80;
  double solved = 1e-5;   // of the gradient, over what it was
  double progress = 0.9;  // of a step's residual over the last one's, beyond which it ends
};
constexpr AverageLimits kAverage;

// A change of all parameters.
struct Change {
  Matrix V;  // k x (d+1)
  Matrix C;  // (k+d+1) x m
  [[nodiscard]] double dot(const Change& other) const {
    return V.cwiseProduct(other.V).sum() + C.cwiseProduct(other.C).sum();
  }
};

// The model linearised at its queries, with parameters scaled so that each acts by about 1.
class Linear {
 public:
  Linear(const SeparableModel& model, const RowMatrix& x)
      : k_(model.units()), d_(x.cols()), C_(model.C.topRows(k_)), X_(x.rows(), d_ + 1) {
    X_ << x, Vector::Ones(x.rows());
    const Matrix z = X_ * model.V.transpose();
    size_ = z.cwiseAbs();
    side_ = z.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
    unit_scale_ = C_.rowwise().norm().cwiseMax(kTiny).cwiseInverse();
    input_scale_ = X_.colwise().norm().cwiseMax(kTiny).cwiseInverse().transpose();
    size_scale_ = size_.colwise().norm().cwiseMax(kTiny).cwiseInverse().transpose();
  }

  [[nodiscard]] Change scaled(const Change& at) const {
    Change out{unit_scale_.asDiagonal() * at.V * input_scale_.asDiagonal(), at.C};
    out.C.topRows(k_) = size_scale_.asDiagonal() * at.C.topRows(k_);
    out.C.bottomRows(d_ + 1) = input_scale_.asDiagonal() * at.C.bottomRows(d_ + 1);
    return out;
  }
  // J at the scaled change: n x m.
  [[nodiscard]] Matrix times(const Change& change) const {
    const Change at = scaled(change);
    return (side_.cwiseProduct(X_ * at.V.transpose())) * C_ + size_ * at.C.topRows(k_) +
           X_ * at.C.bottomRows(d_ + 1);
  }
  [[nodiscard]] Change transposed(const Matrix& r) const {
    Change out{(r * C_.transpose()).cwiseProduct(side_).transpose() * X_, Matrix(k_ + d_ + 1, r.cols())};
    out.C.topRows(k_) = size_.transpose() * r;
    out.C.bottomRows(d_ + 1) = X_.transpose() * r;
    return scaled(out);
  }

 private:
  Index k_, d_;
  Matrix C_;
  Matrix X_, size_, side_;  // n x (d+1), n x k, n x k
  Vector unit_scale_, input_scale_, size_scale_;
};

// Least squares by conjugate gradients.
Change solved(const Linear& J, Matrix left, const Control& control) {
  Change g = J.transposed(left), p = g,
         x{Matrix::Zero(g.V.rows(), g.V.cols()), Matrix::Zero(g.C.rows(), g.C.cols())};
  double gg = g.dot(g);
  const double enough = kAverage.solved * kAverage.solved * gg;
  for (int step = 0; step < kAverage.gradient_steps && gg > enough; ++step) {
    control.check();
    const Matrix q = J.times(p);
    const double a = gg / std::max(q.squaredNorm(), kTiny);
    x.V += a * p.V;
    x.C += a * p.C;
    left -= a * q;
    g = J.transposed(left);
    const double next = g.dot(g), b = next / gg;
    p.V = g.V + b * p.V;
    p.C = g.C + b * p.C;
    gg = next;
  }
  return J.scaled(x);
}

}  // namespace

SeparableModel average_weights(Meter& meter, const SeparableModel& model, const AverageOptions& options) {
  const Index k = model.units(), d = model.inputs(), m = meter.outputs();
  const auto unknowns = static_cast<double>(k * (d + 1) + (k + d + 1) * m);
  const auto wanted = static_cast<Index>(std::ceil(kAverage.equations * unknowns / static_cast<double>(m)));
  if (k == 0 || wanted > meter.left() - kAverage.reserve) return model;
  const RowMatrix x = domain_inputs(meter.frame(), options.spread, options.seed, options.first, wanted);
  const RowMatrix y = meter.ask(QueryStage::kAverage, plain_rows(x));
  SeparableModel best = model;
  RowMatrix left = y - evaluate(best, x);
  for (int step = 0; step < kAverage.newton_steps; ++step) {
    const Change change = solved(Linear(best, x), left, meter.control());
    SeparableModel next = best;
    next.V += change.V;
    next.C += change.C;
    const RowMatrix now = y - evaluate(next, x);
    const double share = now.norm() / std::max(left.norm(), kTiny);
    if (!(share < 1)) break;
    best = std::move(next);
    left = now;
    if (share > kAverage.progress) break;
  }
  for (Index j = 0; j < k; ++j) {
    const double norm = best.V.row(j).head(d).norm();
    best.V.row(j) /= norm;
    best.C.row(j) *= norm;
  }
  return best;
}

namespace {

// A signed model as a sign-free one: max(z, 0) = (z + |z|) / 2.
SeparableModel sign_free(const SeparableModel& model) {
  const Index k = model.units(), s = model.inputs(), m = model.C.cols();
  SeparableModel out;
  out.V = model.V;
  out.C = Matrix::Zero(k + s + 1, m);
  out.C.bottomRows(1) = model.C.bottomRows(1);
  if (model.linear_term) out.C.middleRows(k, s) = model.C.middleRows(k, s);
  if (model.activation == Activation::kAbsolute) {
    out.C.topRows(k) = model.C.topRows(k);
    return out;
  }
  out.C.topRows(k) = model.C.topRows(k) / 2;
  out.C.bottomRows(s + 1) += model.V.transpose() * model.C.topRows(k) / 2;
  return out;
}

}  // namespace

SeparableModel search_units_in_noise(const SeparableModel& start, const RowMatrix& u, const RowMatrix& y,
                                     std::uint64_t seed, const Control& control) {
  const Index s = u.cols(), m = y.cols();
  const auto n = static_cast<double>(u.rows());
  // Standardised: inputs by one factor, outputs by their own mean and spread.
  const double width = std::sqrt(u.squaredNorm() / (n * static_cast<double>(s)));
  const Vector mean = y.colwise().mean();
  const Vector spread =
      ((y.rowwise() - mean.transpose()).colwise().norm() / std::sqrt(n)).transpose().cwiseMax(kTiny);
  const SamplePtr samples = memory_samples(u, y);
  AffineMap map{Matrix::Identity(s, s) / width, Vector::Zero(s), spread.cwiseInverse(), mean};
  const SamplePtr standard = load(*affine(samples, map));
  FitOptions options;
  options.seed = seed;
  const StoredPrecision stored = stored_precision(*samples, control);
  if (stored.coarse()) options.rounding = stored.noise(spread);
  Matrix V = start.V;
  for (Index j = 0; j < V.rows(); ++j) {
    V.row(j).head(s) *= width;
    V.row(j) /= std::max(V.row(j).norm(), kTiny);
  }
  const Fit fit = fit_units(V, standard, options, control);
  SeparableModel out = sign_free(fit.model);
  out.V.leftCols(s) /= width;
  const Index k = out.units();
  out.C.middleRows(k, s) /= width;
  for (Index o = 0; o < m; ++o) out.C.col(o) *= spread(o);
  out.C.bottomRows(1) += mean.transpose();
  for (Index j = 0; j < k; ++j) {
    const double norm = std::max(out.V.row(j).head(s).norm(), kTiny);
    out.V.row(j) /= norm;
    out.C.row(j) *= norm;
  }
  return out;
}

}  // namespace exhume
