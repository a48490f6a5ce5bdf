#include "extract/scaled.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace exhume {

Scaled::Scaled(const RowMatrix& u, const RowMatrix& y) {
  const auto n = static_cast<double>(u.rows());
  middle_ = u.colwise().mean();
  width_ =
      std::max(std::sqrt((u.rowwise() - middle_).squaredNorm() / (n * static_cast<double>(u.cols()))), kTiny);
  mean_ = y.colwise().mean();
  spread_ = ((y.rowwise() - mean_).colwise().norm() / std::sqrt(n)).cwiseMax(kTiny);
}

DeepData Scaled::data(const RowMatrix& u, const RowMatrix& y) const {
  RowMatrix x = (u.rowwise() - middle_) / width_, z = y.rowwise() - mean_;
  for (Index o = 0; o < z.cols(); ++o) z.col(o) /= spread_(o);
  return {std::move(x), std::move(z)};
}

Matrix Scaled::to_scaled(Matrix rows) const {
  const Index s = middle_.size(), first = rows.cols() - 1 - s;
  rows.rightCols(1) += rows.middleCols(first, s) * middle_.transpose();
  rows.middleCols(first, s) *= width_;
  return rows;
}

Matrix Scaled::from_scaled(Matrix rows) const {
  const Index s = middle_.size(), first = rows.cols() - 1 - s;
  rows.middleCols(first, s) /= width_;
  rows.rightCols(1) -= rows.middleCols(first, s) * middle_.transpose();
  return rows;
}

DeepForm Scaled::from_scaled(DeepForm form) const {
  for (std::size_t l = 0; l < form.depth(); ++l)
    if (l == 0 || !form.plain) form.V[l] = from_scaled(std::move(form.V[l]));
  for (Index o = 0; o < form.C.cols(); ++o) form.C.col(o) *= spread_(o);
  if (!form.plain) form.C = from_scaled(Matrix(form.C.transpose())).transpose();
  form.C.bottomRows(1) += mean_;
  return form;
}

DeepForm Scaled::to_scaled(DeepForm form) const {
  for (std::size_t l = 0; l < form.depth(); ++l)
    if (l == 0 || !form.plain) form.V[l] = to_scaled(std::move(form.V[l]));
  if (form.C.size() == 0) return form;
  form.C.bottomRows(1) -= mean_;
  if (!form.plain) form.C = to_scaled(Matrix(form.C.transpose())).transpose();
  for (Index o = 0; o < form.C.cols(); ++o) form.C.col(o) /= spread_(o);
  return form;
}

}  // namespace exhume
