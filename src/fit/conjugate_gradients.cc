#include "fit/conjugate_gradients.h"

#include <algorithm>
#include <cmath>

namespace exhume {
namespace {

constexpr Index kManyBlockInputs = 256;  // from here on one sum for all units, whatever their slopes

// Units at a block of rows: phi(z) and phi'(z), rows x k.
struct ActiveRows {
  Matrix features, slopes;
  ActiveRows(const Form& form, const Eigen::Ref<const Matrix>& Z)
      : features(Z.rows(), Z.cols()), slopes(Z.rows(), Z.cols()) {
    form.rectifier ? activate(*form.rectifier, Z, features, slopes)
                   : activate(form.activation(), Z, features, slopes);
  }
};

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

UnitBlockSums::UnitBlockSums(const Form& form) : slopes(Vector::Zero(form.units())) {
  const bool alike = !form.rectifier && form.activation() == Activation::kAbsolute;
  const Index width = form.inputs + 1, count = alike || width > kManyBlockInputs ? 1 : form.units();
  GG.assign(static_cast<size_t>(count), Matrix::Zero(width, width));
}

void UnitBlockSums::add(const FormRows& rows) {
  slopes += rows.unit_slopes().colwise().squaredNorm().transpose();
  if (alike()) return add_gram(rows.X1(), 1, GG.front());
  for (size_t j = 0; j < GG.size(); ++j) {
    const Matrix G = rows.X1().array().colwise() * rows.unit_slopes().col(static_cast<Index>(j)).array();
    add_gram(G, 1, GG[j]);
  }
}

void UnitBlockSums::merge(const UnitBlockSums& other) {
  for (size_t j = 0; j < GG.size(); ++j) GG[j] += other.GG[j];
  slopes += other.slopes;
}

UnitBlocks::UnitBlocks(const Form& form, const UnitBlockSums& sums, Index rows) {
  const Index k = form.units(), width = form.inputs + 1;
  const bool alike = sums.alike();
  for (const Matrix& each : sums.GG) blocks_.emplace_back(each.selfadjointView<Eigen::Lower>());
  diagonal_.resize(width, k);
  stiff_ = Matrix::Zero(width, k);
  along_ = Matrix::Zero(width, k);
  weight_ = Vector::Ones(k);
  stiffness_ = Vector::Zero(k);
  for (Index j = 0; j < k; ++j) {
    Matrix& block = blocks_[alike ? 0 : static_cast<size_t>(j)];
    double& weight = weight_(j);
    weight = form.C.row(j).squaredNorm();
    if (alike) {
      weight *= sums.slopes(j) / static_cast<double>(rows);
    } else {
      block *= weight;
      weight = 1;
    }
    diagonal_.col(j) = weight * block.diagonal();
    if (form.scale_is_free()) {
      stiffness_(j) = diagonal_.col(j).mean();
      along_.col(j) = form.V[0].row(j).normalized().transpose();
      diagonal_.col(j) += stiffness_(j) * along_.col(j).cwiseAbs2();
      if (!alike) block += stiffness_(j) * along_.col(j) * along_.col(j).transpose();
    }
    diagonal_.col(j).array() += 1e-12 * diagonal_.col(j).mean() + kTiny;
    stiff_.col(j) = diagonal_.col(j).mean() * along_.col(j);
  }
  weight_ = weight_.cwiseMax(kTiny);
}

Matrix UnitBlocks::damped(Index i, double lambda) const {
  Matrix out = blocks_[static_cast<size_t>(i)];
  const double least = 1e-12 * out.diagonal().mean() + kTiny;
  out.diagonal() *= 1 + lambda;
  out.diagonal().array() += least;
  return out;
}

// Sherman and Morrison: with t = s_j / weight_j, t / (1 + t v_j^T A^-1 v_j).
Vector UnitBlocks::shares(const Matrix& turned) const {
  const Vector t = stiffness_.cwiseQuotient(weight_);
  const Vector met = along_.cwiseProduct(turned).colwise().sum().transpose();
  return t.array() / (1 + t.array() * met.array());
}

void UnitBlocks::factor(double lambda) {
  factors_.clear();
  for (Index i = 0; i < count(); ++i) factors_.emplace_back(damped(i, lambda));
  turned_.resize(0, 0);
  if (!alike()) return;
  turned_ = factors_.front().solve(along_);
  share_ = shares(turned_);
}

Matrix UnitBlocks::solve(const Matrix& r) const {
  if (turned_.size() > 0) {
    Matrix out = factors_.front().solve(r);
    const Vector part = along_.cwiseProduct(out).colwise().sum().transpose();
    out -= turned_ * share_.cwiseProduct(part).asDiagonal();
    return out * weight_.cwiseInverse().asDiagonal();
  }
  Matrix out = r;
  for (Index j = 0; j < r.cols(); ++j) out.col(j) = factors_[static_cast<size_t>(j)].solve(r.col(j));
  return out;
}

ConjugateSystem::ConjugateSystem(const Form& form, const SampleSource& samples, Index block_rows,
                                 const Control& control)
    : form_(form), samples_(samples), block_rows_(block_rows), control_(control) {
  const Index q = form.features(), k = form.units(), width = form.inputs + 1, m = samples.outputs();
  const BlockSums empty{UnitBlockSums(form), Matrix::Zero(q, q), Matrix::Zero(q, m), Matrix::Zero(width, k)};
  BlockSums sums = reduce_blocks(
      samples, empty, control, "",
      [&](BlockSums& to, const SampleBlock& block) {
        const FormBlock rows(form, block, true);
        const Matrix R = rows.Y - rows.F() * form.C;
        to.units.add(rows);
        add_gram(rows.F(), 1, to.FF);
        to.FR.noalias() += rows.F().transpose() * R;
        to.gradient.noalias() +=
            rows.X1().transpose() * (R * form.C.topRows(k).transpose()).cwiseProduct(rows.unit_slopes());
      },
      block_rows);
  Matrix FF = sums.FF.selfadjointView<Eigen::Lower>();
  FF.diagonal() *= 1 + 1e-14;
  inverse_FF_ = inverse_scaled(FF);
  gradient_ = {std::move(sums.gradient), std::move(sums.FR)};
  blocks_ = UnitBlocks(form, sums.units, samples.rows());
}

ConjugateSystem::Direction ConjugateSystem::apply(const Direction& x, double damping) const {
  const Index k = form_.units(), d = form_.inputs, m = x.C.cols();
  const Index linear = form_.plain ? 0 : m;
  const Matrix C = form_.C.topRows(k);
  // All that X is multiplied with, side by side: Z, dZ and the linear term.
  Matrix right(d, 2 * k + linear);
  Vector constant = Vector::Zero(2 * k + linear);
  right.leftCols(2 * k) << form_.V[0].leftCols(d).transpose(), x.V.topRows(d);
  if (linear > 0) right.rightCols(linear) = x.C.middleRows(k, d);
  constant << form_.V[0].col(d), x.V.row(d).transpose(), Vector::Zero(linear);
  Direction out = reduce_blocks(
      samples_, Direction{Matrix::Zero(d + 1, k), Matrix::Zero(x.C.rows(), m)}, control_, "",
      [&](Direction& to, const SampleBlock& block) {
        const ConstRows X = block.x();
        Matrix all = X * right;
        all.rowwise() += constant.transpose();
        const ActiveRows rows(form_, all.leftCols(k));
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
  out.V += damping * blocks_.diagonal().cwiseProduct(x.V);
  const Vector part = blocks_.along().cwiseProduct(x.V).colwise().sum().transpose();
  out.V += blocks_.stiff() * part.asDiagonal();
  return out;
}

ConjugateSystem::Direction ConjugateSystem::precondition(const Direction& r, const UnitBlocks& units) const {
  return {units.solve(r.V), inverse_FF_ * r.C};
}

std::optional<Vector> ConjugateSystem::step(double damping) const {
  UnitBlocks units = blocks_;
  units.factor(damping);
  Direction x{Matrix::Zero(gradient_.V.rows(), gradient_.V.cols()),
              Matrix::Zero(gradient_.C.rows(), gradient_.C.cols())};
  Direction r = gradient_;
  Direction z = precondition(r, units);
  Direction p = z;
  double rz = r.dot(z);
  const double enough = rz * kForcing * kForcing;
  for (int product = 0; product < kMostProducts && rz > enough && rz > 0; ++product) {
    const Direction Ap = apply(p, damping);
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
  return Vector(x.V.reshaped());
}

}  // namespace exhume
