#include "fit/deep/rows.h"

namespace exhume {

DeepLayout::DeepLayout(const DeepForm& form) {
  const std::size_t depth = form.depth();
  hidden.resize(depth);
  below.resize(depth);
  for (std::size_t l = depth; l-- > 0;) {
    hidden[l] = {columns, form.V[l].rows()};
    columns += form.V[l].rows();
    if (form.plain) ones.push_back(columns++);
    below[l] = {columns, form.V[l].cols()};
  }
  inputs = {columns, form.inputs};
  columns += form.inputs;
  ones.push_back(columns++);
  features = form.features();
}

DeepRows::DeepRows(const DeepForm& form, const Eigen::Ref<const RowMatrix>& x) : form_(form), layout_(form) {
  P_.resize(x.rows(), layout_.columns);
  Q_.resize(form.depth());
  P_.middleCols(layout_.inputs.first, layout_.inputs.count) = x;
  for (Index column : layout_.ones) P_.col(column).setOnes();
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const auto [from, count] = layout_.below[l];
    const auto [to, units] = layout_.hidden[l];
    if (units == 0) {
      Q_[l].resize(x.rows(), 0);
      continue;
    }
    Q_[l].noalias() = P_.middleCols(from, count) * form.V[l].transpose();
    if (form.plain) {
      P_.middleCols(to, units) = Q_[l].cwiseMax(0.0);
    } else {
      P_.middleCols(to, units) = Q_[l].cwiseAbs();
    }
  }
}

std::vector<Matrix> DeepRows::slopes(const Eigen::Ref<const Vector>& c) const {
  std::vector<Matrix> out(form_.depth());
  Matrix g = Matrix::Zero(P_.rows(), layout_.columns);
  g.leftCols(layout_.features).rowwise() = c.transpose();
  for (std::size_t l = form_.depth(); l-- > 0;) {
    const auto [to, units] = layout_.hidden[l];
    const auto [from, count] = layout_.below[l];
    if (form_.plain) {
      out[l] = (Q_[l].array() > 0).select(g.middleCols(to, units), 0.0);
    } else {
      out[l] = (Q_[l].array() < 0).select(-g.middleCols(to, units), g.middleCols(to, units));
    }
    if (l > 0 && units > 0) g.middleCols(from, count).noalias() += out[l] * form_.V[l];
  }
  return out;
}

Matrix DeepRows::jacobian(const Eigen::Ref<const Vector>& c) const {
  const std::vector<Matrix> slope = slopes(c);
  Matrix J(P_.rows(), form_.unknowns());
  Index at = 0;
  for (std::size_t l = form_.given; l < form_.depth(); ++l) {
    const auto [from, count] = layout_.below[l];
    for (Index j = 0; j < slope[l].cols(); ++j) {
      J.middleCols(at, count) = P_.middleCols(from, count).array().colwise() * slope[l].col(j).array();
      at += count;
    }
  }
  return J;
}

}  // namespace exhume
