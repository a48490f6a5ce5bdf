#include "fit/gauss_newton_cg.h"

#include <cmath>

namespace exhume {
namespace {

constexpr int kMostProducts = 120;
constexpr double kForcing = 1e-3;  // relative residual at which conjugate gradients stop

struct BlockSums {
  std::vector<Matrix> GG;
  Matrix FF, FR, gradient;
  void merge(const BlockSums& other) {
    for (size_t j = 0; j < GG.size(); ++j) GG[j] += other.GG[j];
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
  BlockSums empty;
  empty.GG.assign(static_cast<size_t>(k), Matrix::Zero(width, width));
  empty.FF = Matrix::Zero(q, q);
  empty.FR = Matrix::Zero(q, m);
  empty.gradient = Matrix::Zero(width, k);
  BlockSums sums = reduce_blocks(
      samples, empty, control, "",
      [&](BlockSums& to, const SampleBlock& block) {
        const ModelBlock rows(model, block, true);
        const Matrix R = rows.Y - rows.F * model.C;
        for (Index j = 0; j < k; ++j) {
          const Matrix Gj = rows.X1.array().colwise() * rows.slopes.col(j).array();
          to.GG[static_cast<size_t>(j)].noalias() += Gj.transpose() * Gj;
        }
        to.FF.noalias() += rows.F.transpose() * rows.F;
        to.FR.noalias() += rows.F.transpose() * R;
        to.gradient.noalias() +=
            rows.X1.transpose() * (R * model.C.topRows(k).transpose()).cwiseProduct(rows.slopes);
      },
      block_rows);
  FF_ = std::move(sums.FF);
  gradient_ = {std::move(sums.gradient), std::move(sums.FR)};
  blocks_ = std::move(sums.GG);
  for (Index j = 0; j < k; ++j) {
    Matrix& block = blocks_[static_cast<size_t>(j)];
    block *= model.C.row(j).squaredNorm();
    if (model.scale_is_free()) {
      const Vector v = model.V.row(j).normalized();
      block += block.diagonal().mean() * v * v.transpose();
    }
    block.diagonal().array() += 1e-12 * block.diagonal().mean() + kTiny;
  }
  FF_.diagonal() *= 1 + 1e-14;
}

ConjugateStep::Direction ConjugateStep::apply(const Direction& x, double lambda,
                                              const SeparableModel& model) const {
  const Index k = model.units();
  Direction empty{Matrix::Zero(x.V.rows(), x.V.cols()), Matrix::Zero(x.C.rows(), x.C.cols())};
  Direction out = reduce_blocks(
      samples_, empty, control_, "",
      [&](Direction& to, const SampleBlock& block) {
        const ModelBlock rows(model, block, true);
        const Matrix U = (rows.X1 * x.V).cwiseProduct(rows.slopes) * model.C.topRows(k) + rows.F * x.C;
        to.V.noalias() +=
            rows.X1.transpose() * (U * model.C.topRows(k).transpose()).cwiseProduct(rows.slopes);
        to.C.noalias() += rows.F.transpose() * U;
      },
      block_rows_);
  for (Index j = 0; j < k; ++j) {
    const Matrix& block = blocks_[static_cast<size_t>(j)];
    out.V.col(j) += lambda * block.diagonal().cwiseProduct(x.V.col(j));
    if (!model.scale_is_free()) continue;
    const Vector v = model.V.row(j).normalized();
    out.V.col(j) += block.diagonal().mean() * v * v.dot(x.V.col(j));
  }
  return out;
}

ConjugateStep::Direction ConjugateStep::precondition(const Direction& r,
                                                     const std::vector<Eigen::LLT<Matrix>>& units) const {
  Direction out{r.V, solve_scaled(FF_, r.C)};
  for (Index j = 0; j < r.V.cols(); ++j) out.V.col(j) = units[static_cast<size_t>(j)].solve(r.V.col(j));
  return out;
}

Matrix ConjugateStep::step(double lambda, const SeparableModel& model) const {
  std::vector<Eigen::LLT<Matrix>> units;
  for (const Matrix& block : blocks_) {
    Matrix damped = block;
    damped.diagonal() += lambda * block.diagonal();
    units.emplace_back(damped);
  }
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
