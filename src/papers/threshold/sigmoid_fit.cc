#include "papers/threshold/sigmoid_fit.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/reduce.h"
#include "exhume/error.h"

namespace exhume {
namespace {

constexpr Index kStartRows = 20000;

RowMatrix sigmoids(const Eigen::Ref<const RowMatrix>& x, const Matrix& V, const Vector& t) {
  RowMatrix Z = x * V.transpose();
  Z.rowwise() -= t.transpose();
  return 1 / (1 + (-Z.array()).exp());
}

// Unknowns in the order v_1, t_1, v_2, ..., c_0, c_i, c_ij.
struct Layout {
  Index k, d;
  [[nodiscard]] Index unit(Index i) const { return i * (d + 1); }
  [[nodiscard]] Index constant() const { return k * (d + 1); }
  [[nodiscard]] Index linear() const { return constant() + 1; }
  [[nodiscard]] Index products() const { return linear() + k; }
  [[nodiscard]] Index size() const { return products() + k * (k - 1) / 2; }
};

SigmoidLayer moved(const SigmoidLayer& at, const Vector& step, const Layout& layout) {
  SigmoidLayer to = at;
  for (Index i = 0; i < layout.k; ++i) {
    to.V.row(i) += step.segment(layout.unit(i), layout.d).transpose();
    to.t(i) += step(layout.unit(i) + layout.d);
  }
  to.constant += step(layout.constant());
  to.linear += step.segment(layout.linear(), layout.k);
  Index next = layout.products();
  for (Index i = 0; i < layout.k; ++i) {
    for (Index j = i + 1; j < layout.k; ++j) to.products(i, j) += step(next++);
  }
  return to;
}

struct NormalEquations {
  Matrix H;  // J^T J
  Vector g;  // J^T (f - fit)
  double squares = 0;
  void merge(const NormalEquations& other) {
    H += other.H;
    g += other.g;
    squares += other.squares;
  }
};

NormalEquations normal_equations(const SampleSource& rows, const SigmoidLayer& at, const Layout& layout,
                                 const Control& control) {
  const Index k = layout.k, d = layout.d, q = layout.size();
  const NormalEquations zero{Matrix::Zero(q, q), Vector::Zero(q)};
  const Matrix both = at.products + at.products.transpose();
  return reduce_blocks(
      rows, zero, control, "",
      [&](NormalEquations& to, const SampleBlock& block) {
        const RowMatrix S = sigmoids(block.x(), at.V, at.t);
        const RowMatrix pulled = (S * both).rowwise() + at.linear.transpose();  // dP/ds_i
        Matrix J(block.rows(), q);
        for (Index i = 0; i < k; ++i) {
          const Vector slope = pulled.col(i).array() * S.col(i).array() * (1 - S.col(i).array());
          J.middleCols(layout.unit(i), d) = slope.asDiagonal() * block.x();
          J.col(layout.unit(i) + d) = -slope;
          J.col(layout.linear() + i) = S.col(i);
        }
        J.col(layout.constant()).setOnes();
        Index next = layout.products();
        for (Index i = 0; i < k; ++i) {
          for (Index j = i + 1; j < k; ++j) J.col(next++) = S.col(i).cwiseProduct(S.col(j));
        }
        const Vector rest = block.y().col(0) - at.evaluate(block.x());
        to.H.noalias() += J.transpose() * J;
        to.g.noalias() += J.transpose() * rest;
        to.squares += rest.squaredNorm();
      },
      2048);
}

double squares_left(const SampleSource& rows, const SigmoidLayer& at, const Control& control) {
  struct Sum {
    double squares = 0;
    void merge(const Sum& other) { squares += other.squares; }
  };
  return reduce_blocks(rows, Sum{}, control, "",
                       [&](Sum& to, const SampleBlock& block) {
                         to.squares += (block.y().col(0) - at.evaluate(block.x())).squaredNorm();
                       })
      .squares;
}

// Sides, a common threshold and coefficients, by least squares on both sides of every direction.
SigmoidLayer first_guess(const SampleSource& rows, const Matrix& directions) {
  const Index k = directions.cols(), count = std::min(kStartRows, rows.rows());
  SampleBlock block;
  rows.read(0, count, block);
  const RowMatrix x = block.x();
  const Vector y = block.y().col(0);
  SigmoidLayer best;
  double least = std::numeric_limits<double>::infinity();
  Matrix both(2 * k, directions.rows());
  both << directions.transpose(), -directions.transpose();
  for (double t = 0.5; t < 8.1; t += 0.5) {
    Matrix basis(count, 2 * k + 1);
    basis << sigmoids(x, both, Vector::Constant(2 * k, t)), Vector::Ones(count);
    const Vector c = basis.colPivHouseholderQr().solve(y);
    const double left = (y - basis * c).squaredNorm();
    if (!(left < least)) continue;
    least = left;
    best.V = directions.transpose();
    best.t = Vector::Constant(k, t);
    best.linear.resize(k);
    for (Index i = 0; i < k; ++i) {
      const bool turn = std::abs(c(k + i)) > std::abs(c(i));
      if (turn) best.V.row(i) *= -1;
      best.linear(i) = c(turn ? k + i : i);
    }
    best.constant = c(2 * k);
  }
  best.products = Matrix::Zero(k, k);
  return best;
}

}  // namespace

RowMatrix SigmoidLayer::units(const Eigen::Ref<const RowMatrix>& x) const { return sigmoids(x, V, t); }

Vector SigmoidLayer::evaluate(const Eigen::Ref<const RowMatrix>& x) const {
  const RowMatrix S = sigmoids(x, V, t);
  Vector out = S * linear + (S * products).cwiseProduct(S).rowwise().sum();
  out.array() += constant;
  return out;
}

Vector SigmoidLayer::nonlinear_part(const Eigen::Ref<const RowMatrix>& x) const {
  const RowMatrix S = sigmoids(x, V, t);
  return (S * products).cwiseProduct(S).rowwise().sum();
}

SigmoidLayer fit_sigmoids(const SamplePtr& samples, const Matrix& directions,
                          const SigmoidFitOptions& options, const Control& control) {
  const Layout layout{directions.cols(), directions.rows()};
  const Index q = layout.size();
  if (samples->rows() < 2 * q) {
    throw DataError(fmt::format("{} rows are too few for the {} unknowns of {} sigmoids; give at least {}",
                                samples->rows(), q, layout.k, 2 * q));
  }
  const SamplePtr rows = spread_subset(*samples, std::max<Index>(kStartRows, options.rows_per_unknown * q));
  SampleBlock all;
  rows->read(0, rows->rows(), all);
  const double variance = (all.y().col(0).array() - all.y().col(0).mean()).square().sum();

  SigmoidLayer at = first_guess(*rows, directions);
  double damping = 1e-3;
  NormalEquations here = normal_equations(*rows, at, layout, control);
  for (; at.steps < options.max_steps; ++at.steps) {
    control.check();
    if (here.squares <= 1e-30 * variance) break;
    Matrix H = here.H;
    H.diagonal() *= 1 + damping;
    H.diagonal().array() += kTiny;
    SigmoidLayer next = moved(at, H.ldlt().solve(here.g), layout);
    const double squares = squares_left(*rows, next, control);
    if (!(squares < here.squares)) {  // also where it is not a number
      damping *= 8;
      if (damping > 1e8) break;
      continue;
    }
    const bool slow = squares > (1 - 1e-7) * here.squares;
    damping = std::max(damping / 5, 1e-14);
    next.steps = at.steps;
    at = std::move(next);
    if (slow) break;
    here = normal_equations(*rows, at, layout, control);
    control.report("sigmoids", static_cast<double>(at.steps) / options.max_steps);
  }
  at.misfit = squares_left(*rows, at, control) / std::max(variance, kTiny);
  return at;
}

}  // namespace exhume
