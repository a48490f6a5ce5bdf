#include "fit/deep/determined.h"

#include <algorithm>
#include <cmath>

#include "fit/sums.h"
#include "model/form.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

// The largest eigenvalue of a positive definite matrix, to a percent or so.
double largest_eigenvalue(const Eigen::Ref<const Matrix>& B) {
  constexpr int kSteps = 60;
  Vector v = Vector::LinSpaced(B.rows(), 1.0, 2.0).normalized();
  // From the column that is largest, so that no direction is missed by symmetry.
  Index at = 0;
  B.diagonal().maxCoeff(&at);
  v += B.col(at) / std::max(B.col(at).norm(), kTiny);
  double value = 0;
  for (int i = 0; i < kSteps; ++i) {
    v /= std::max(v.norm(), kTiny);
    const Vector next = B * v;
    value = v.dot(next);
    v = next;
  }
  return std::max(value, B.diagonal().maxCoeff());
}

// Whether each of these rows lies on the kink of some unit.
std::vector<bool> on_a_kink(const Form& form, const Eigen::Ref<const RowMatrix>& x, double at_kink) {
  std::vector<bool> out(static_cast<std::size_t>(x.rows()), false);
  const FormRows rows(form, x);
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const auto [from, count] = rows.layout().below[l];
    const Vector near = at_kink * rows.P().middleCols(from, count).rowwise().norm();
    for (Index i = 0; i < x.rows(); ++i)
      if ((rows.Q(l).row(i).array().abs() <= near(i)).any()) out[static_cast<std::size_t>(i)] = true;
  }
  return out;
}

DeepData off_kinks(const Form& form, DeepData data, double at_kink) {
  std::vector<Index> on;
  for (Index first = 0; first < data.rows(); first += kStripRows) {
    const std::vector<bool> strip =
        on_a_kink(form, data.x.middleRows(first, std::min(kStripRows, data.rows() - first)), at_kink);
    for (std::size_t i = 0; i < strip.size(); ++i)
      if (strip[i]) on.push_back(first + static_cast<Index>(i));
  }
  if (!on.empty()) static_cast<void>(data.take_out(on));
  return data;
}

}  // namespace

double Determined::least() const {
  return smallest.empty() ? 1 : *std::min_element(smallest.begin(), smallest.end());
}

Determined how_determined(const Form& plain, const DeepData& data, const Control& control,
                          double at_kink) {
  Determined out;
  Matrix H = normal_matrix(plain, off_kinks(plain, data, at_kink), control);
  const Vector scale = H.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  Matrix factor = scale.asDiagonal() * H * scale.asDiagonal();
  out.smallest.assign(plain.depth(), 0);
  // Weights on which nothing depends, or a matrix that is singular to rounding.
  if (!(H.diagonal().minCoeff() > 0) || lapack::potrf(factor) != 0 || lapack::potri(factor) != 0) return out;
  factor.triangularView<Eigen::StrictlyUpper>() = factor.transpose();
  out.inverse = scale.asDiagonal() * factor * scale.asDiagonal();
  Index first = 0;
  for (std::size_t l = 0; l < plain.depth(); ++l) {
    const Index size = plain.V[l].size();
    if (size > 0) {
      const double largest = largest_eigenvalue(out.inverse.block(first, first, size, size));
      out.smallest[l] = largest > 0 ? 1 / std::sqrt(largest) : 0;
    } else {
      out.smallest[l] = 1;
    }
    first += size;
  }
  out.largest_error = std::sqrt(std::max(out.inverse.diagonal().maxCoeff(), 0.0));
  return out;
}

}  // namespace exhume
