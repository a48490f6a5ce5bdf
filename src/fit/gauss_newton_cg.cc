#include "fit/gauss_newton_cg.h"

#include <cmath>

namespace exhume {
namespace {

// Units at a block of rows: phi(z) and phi'(z), rows x k.
struct ActiveRows {
  Matrix features, slopes;
  ActiveRows(const SeparableModel& model, const Eigen::Ref<const Matrix>& Z)
      : features(Z.rows(), Z.cols()), slopes(Z.rows(), Z.cols()) {
    if (model.rectifier) {
      activate(*model.rectifier, Z, features, slopes);
    } else {
      activate(model.activation, Z, features, slopes);
    }
  }
};

constexpr int kMostProducts = 120;
constexpr double kForcing = 1e-3;  // relative residual at which conjugate gradients stop

struct BlockSums {
  UnitBlockSums units;
  Matrix FF, FR, gradient;  // of FF the lower triangle
  void merge(const BlockSums& other) {
    units.merge(other.units);
    FF += other.FF;
    FR += other.FR;
    gradient += other.gradient;
  }
};

}  // namespace

ConjugateStep::ConjugateStep(const SeparableModel& model, const SampleSource& samples, Index block_rows,
                             const Control& control)
    : samples_(samples), block_rows_(block_rows), control_(control) {
  const Index q = model.features(), k = model.units(), width = model.V.cols(), m = samples.outputs();
  const BlockSums empty{UnitBlockSums(model), Matrix::Zero(q, q), Matrix::Zero(q, m), Matrix::Zero(width, k)};
  BlockSums sums = reduce_blocks(
      samples, empty, control, "",
      [&](BlockSums& to, const SampleBlock& block) {
        const ModelBlock rows(model, block, true);
        const Matrix R = rows.Y - rows.F * model.C;
        to.units.add(rows);
        add_gram(rows.F, 1, to.FF);
        to.FR.noalias() += rows.F.transpose() * R;
        to.gradient.noalias() +=
            rows.X1.transpose() * (R * model.C.topRows(k).transpose()).cwiseProduct(rows.slopes);
      },
      block_rows);
  Matrix FF = sums.FF.selfadjointView<Eigen::Lower>();
  FF.diagonal() *= 1 + 1e-14;
  inverse_FF_ = inverse_scaled(FF);
  gradient_ = {std::move(sums.gradient), std::move(sums.FR)};
  blocks_ = UnitBlocks(model, sums.units, samples.rows());
}

ConjugateStep::Direction ConjugateStep::apply(const Direction& x, double lambda,
                                              const SeparableModel& model) const {
  const Index k = model.units(), d = model.inputs(), m = x.C.cols();
  const Index linear = model.linear_term ? m : 0;
  const Matrix C = model.C.topRows(k);
  // All that X is multiplied with, side by side: Z, dZ and the linear term.
  Matrix right(d, 2 * k + linear);
  Vector constant = Vector::Zero(2 * k + linear);
  right << model.V.leftCols(d).transpose(), x.V.topRows(d),
      x.C.middleRows(k, linear > 0 ? d : 0).leftCols(linear);
  constant << model.V.col(d), x.V.row(d).transpose(), Vector::Zero(linear);
  Direction out = reduce_blocks(
      samples_, Direction{Matrix::Zero(d + 1, k), Matrix::Zero(x.C.rows(), m)}, control_, "",
      [&](Direction& to, const SampleBlock& block) {
        const ConstRows X = block.x();
        Matrix all = X * right;
        all.rowwise() += constant.transpose();
        const ActiveRows rows(model, all.leftCols(k));
        Matrix U = all.middleCols(k, k).cwiseProduct(rows.slopes) * C + rows.features * x.C.topRows(k);
        if (linear > 0) U += all.rightCols(m);
        U.rowwise() += x.C.bottomRows(1).row(0);
        Matrix left(X.rows(), k + linear);
        left.leftCols(k) = (U * C.transpose()).cwiseProduct(rows.slopes);
        if (linear > 0) left.rightCols(m) = U;
        const Matrix back = X.transpose() * left;
        to.V.topRows(d) += back.leftCols(k);
        to.V.row(d) += left.leftCols(k).colwise().sum();
        to.C.topRows(k).noalias() += rows.features.transpose() * U;
        if (linear > 0) to.C.middleRows(k, d) += back.rightCols(m);
        to.C.bottomRows(1) += U.colwise().sum();
      },
      block_rows_);
  out.V += lambda * blocks_.diagonal().cwiseProduct(x.V);
  const Vector part = blocks_.along().cwiseProduct(x.V).colwise().sum().transpose();
  out.V += blocks_.stiff() * part.asDiagonal();
  return out;
}

ConjugateStep::Direction ConjugateStep::precondition(const Direction& r, const UnitBlocks& units) const {
  return {units.solve(r.V), inverse_FF_ * r.C};
}

Matrix ConjugateStep::step(double lambda, const SeparableModel& model) const {
  UnitBlocks units = blocks_;
  units.factor(lambda);
  Direction x{Matrix::Zero(gradient_.V.rows(), gradient_.V.cols()),
              Matrix::Zero(gradient_.C.rows(), gradient_.C.cols())};
  Direction r = gradient_;
  Direction z = precondition(r, units);
  Direction p = z;
  double rz = r.dot(z);
  const double enough = rz * kForcing * kForcing;
  for (int product = 0; product < kMostProducts && rz > enough && rz > 0; ++product) {
    const Direction Ap = apply(p, lambda, model);
    const double alpha = rz / p.dot(Ap);
    if (!std::isfinite(alpha) || alpha <= 0) break;
    x.V += alpha * p.V;
    x.C += alpha * p.C;
    r.V -= alpha * Ap.V;
    r.C -= alpha * Ap.C;
    z = precondition(r, units);
    const double next = r.dot(z);
    p.V = z.V + (next / rz) * p.V;
    p.C = z.C + (next / rz) * p.C;
    rz = next;
  }
  return x.V.transpose();
}

}  // namespace exhume
