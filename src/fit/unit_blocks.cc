#include "fit/unit_blocks.h"

#include <algorithm>

namespace exhume {
namespace {

constexpr Index kManyBlockInputs = 256;  // from here on one sum for all units, whatever their slopes

}  // namespace

UnitBlockSums::UnitBlockSums(const SeparableModel& model) : slopes(Vector::Zero(model.units())) {
  const bool alike = !model.rectifier && model.activation == Activation::kAbsolute;
  const Index width = model.V.cols(), count = alike || width > kManyBlockInputs ? 1 : model.units();
  GG.assign(static_cast<size_t>(count), Matrix::Zero(width, width));
}

void UnitBlockSums::add(const ModelRows& rows) {
  slopes += rows.slopes.colwise().squaredNorm().transpose();
  if (alike()) return add_gram(rows.X1, 1, GG.front());
  for (size_t j = 0; j < GG.size(); ++j) {
    const Matrix G = rows.X1.array().colwise() * rows.slopes.col(static_cast<Index>(j)).array();
    add_gram(G, 1, GG[j]);
  }
}

void UnitBlockSums::merge(const UnitBlockSums& other) {
  for (size_t j = 0; j < GG.size(); ++j) GG[j] += other.GG[j];
  slopes += other.slopes;
}

UnitBlocks::UnitBlocks(const SeparableModel& model, const UnitBlockSums& sums, Index rows) {
  const Index k = model.units(), width = model.V.cols();
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
    weight = model.C.row(j).squaredNorm();
    if (alike) {
      weight *= sums.slopes(j) / static_cast<double>(rows);
    } else {
      block *= weight;
      weight = 1;
    }
    diagonal_.col(j) = weight * block.diagonal();
    if (model.scale_is_free()) {
      stiffness_(j) = diagonal_.col(j).mean();
      along_.col(j) = model.V.row(j).normalized().transpose();
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

}  // namespace exhume
