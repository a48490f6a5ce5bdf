#include "extract/moves/tidy_network.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "linalg/svd.h"

namespace exhume {
namespace {

struct TidyLimits {
  double needless = 1e-11;  // part of a unit in what stands on it, over the largest value there
  double unused = 1e-9;     // the same of weights in the sign-free form, which was fitted with more unknowns
  double one_plane = 1e-9;  // distance of two rows of unit norm
  double carried = 1e-7;    // what signs leave of the skip terms, over these
  Index most_signed = 12;   // units whose signs are tried in all ways
  double beyond_least = 0.5;  // constant of a unit that is always on, over the range of its values
};
constexpr TidyLimits kTidy;

Matrix rows_above(const DeepForm& form, std::size_t l) {
  return l + 1 < form.depth() ? form.V[l + 1] : Matrix(form.C.transpose());
}

DeepForm without_unit(const DeepForm& form, std::size_t l, Index j) {
  std::vector<Index> others;
  for (Index i = 0; i < form.V[l].rows(); ++i)
    if (i != j) others.push_back(i);
  return with_units(form, l, others);
}

// The largest |value| of every unit of a layer, and of what stands on it.
struct Sizes {
  Vector h, above;
};
Sizes sizes(const DeepForm& form, std::size_t l, const RowMatrix& x) {
  const FormRows rows(form, x);
  const Matrix values = rows.Q(l).cwiseMax(0);
  Sizes out{Vector::Zero(values.cols()), {}};
  if (values.rows() > 0) out.h = values.colwise().maxCoeff().transpose();
  const Matrix above = l + 1 < form.depth() ? rows.Q(l + 1) : Matrix(rows.F() * form.C);
  out.above = Vector::Zero(above.cols());
  if (above.rows() > 0) out.above = above.cwiseAbs().colwise().maxCoeff().transpose();
  return out;
}

bool leave_one(DeepForm& form, std::size_t l, const RowMatrix& x) {
  if (form.V[l].rows() < 2) return false;
  const Sizes size = sizes(form, l, x);
  const Matrix above = rows_above(form, l);
  for (Index j = form.V[l].rows(); j-- > 0;) {
    const Vector part = above.col(j).cwiseAbs() * size.h(j);
    if (!(part.array() <= kTidy.needless * size.above.array()).all()) continue;
    form = without_unit(form, l, j);
    return true;
  }
  return false;
}

bool join_two(DeepForm& form, std::size_t l) {
  const Matrix& V = form.V[l];
  for (Index i = 0; i < V.rows(); ++i) {
    for (Index j = i + 1; j < V.rows(); ++j) {
      const double one = V.row(i).norm(), two = V.row(j).norm();
      if (!(one > 0) || !(two > 0) || !((V.row(i) / one - V.row(j) / two).norm() <= kTidy.one_plane))
        continue;
      if (l + 1 < form.depth()) {
        form.V[l + 1].col(i) += two / one * form.V[l + 1].col(j);
      } else {
        form.C.row(i) += two / one * form.C.row(j);
      }
      form = without_unit(form, l, j);
      return true;
    }
  }
  return false;
}

// What the signs of one layer leave of the rows above it.
struct Rest {
  Vector signs;
  Vector b, v;  // b v^T; empty where nothing is left
  Index plane = -1;
};

// V: k x c; U: r x k, R: r x c. The columns of the constant, the last, are left out.
std::optional<Rest> least_rest(const Matrix& V, const Matrix& U, const Matrix& R) {
  const Index k = V.rows(), c = V.cols() - 1;
  if (k > kTidy.most_signed || c == 0) return std::nullopt;
  const Matrix W = V.leftCols(c);
  // Rows of one size.
  Vector size(U.rows());
  for (Index i = 0; i < U.rows(); ++i) {
    const double all = R.row(i).head(c).norm() + (U.row(i).cwiseAbs() * W.cwiseAbs()).norm();
    size(i) = all > 0 ? 1 / all : 0;
  }
  const Matrix S = size.asDiagonal() * U, T = size.asDiagonal() * R.leftCols(c);
  std::optional<Rest> found;
  bool open = false;  // two different rests
  for (std::uint32_t way = 0; way < std::uint32_t{1} << k; ++way) {
    Vector s(k);
    for (Index j = 0; j < k; ++j) s(j) = (way >> j & 1) != 0 ? -1 : 1;
    const Matrix left = T - S * s.asDiagonal() * W;
    if (left.norm() <= kTidy.carried) return Rest{s, {}, {}, -1};
    const Svd parts = thin_svd(left);
    if (parts.values.size() > 1 && parts.values(1) > kTidy.carried) continue;
    Rest rest{s, parts.U.col(0) * parts.values(0), parts.V.col(0), -1};
    for (Index i = 0; i < rest.b.size(); ++i) rest.b(i) = size(i) > 0 ? rest.b(i) / size(i) : 0;
    for (Index j = 0; j < k; ++j) {
      const double along = rest.v.dot(W.row(j)) / std::max(W.row(j).norm(), kTiny);
      if (1 - std::abs(along) <= kTidy.carried) rest.plane = j;
    }
    // Both signs of a unit with another turned away from it say the same.
    open = open || (found && (found->plane < 0 || found->plane != rest.plane));
    if (!found) found = std::move(rest);
  }
  return open ? std::nullopt : found;
}

}  // namespace

DeepForm without_needless_units(const DeepForm& plain, const RowMatrix& x) {
  DeepForm form = plain;
  for (std::size_t l = form.depth(); l-- > 0;) {
    while (join_two(form, l)) {
    }
    while (leave_one(form, l, x)) {
    }
  }
  return form;
}

std::optional<DeepForm> without_skip_terms(const DeepForm& sign_free, const RowMatrix& x) {
  if (sign_free.plain || sign_free.turned || sign_free.C.size() == 0) return std::nullopt;
  DeepForm form = sign_free;
  for (std::size_t l = form.depth(); l-- > 0;) {
    for (Index j = form.V[l].rows(); j-- > 0 && form.V[l].rows() > 1;) {
      double part = 0;
      Index at = j;
      for (std::size_t u = l + 1; u <= form.depth(); ++u) {
        const Matrix above = u < form.depth() ? form.V[u] : Matrix(form.C.transpose());
        for (Index i = 0; i < above.rows(); ++i)
          part = std::max(part, std::abs(above(i, at)) / std::max(above.row(i).norm(), kTiny));
        if (u < form.depth()) at += form.V[u].rows();
      }
      if (part <= kTidy.unused) form = without_unit(form, l, j);
    }
  }
  const std::size_t depth = form.depth();
  std::vector<Matrix> rows = form.V;  // on (..., |Q_{l+1}|, what layer l reads)
  rows.emplace_back(form.C.transpose());
  DeepForm plain;
  plain.plain = true;
  plain.inputs = form.inputs;
  RowMatrix p = x;  // what layer l reads, without the constant
  for (std::size_t l = 0; l < depth; ++l) {
    const Matrix V = rows[l];
    const Index k = V.rows(), c = V.cols();
    Index count = 0;
    for (std::size_t u = l + 1; u <= depth; ++u) count += rows[u].rows();
    Matrix U(count, k), R(count, c);
    for (std::size_t u = l + 1, at = 0; u <= depth; at += static_cast<std::size_t>(rows[u].rows()), ++u) {
      U.middleRows(static_cast<Index>(at), rows[u].rows()) = rows[u].middleCols(rows[u].cols() - c - k, k);
      R.middleRows(static_cast<Index>(at), rows[u].rows()) = rows[u].rightCols(c);
    }
    const std::optional<Rest> rest = least_rest(V, U, R);
    if (!rest) return std::nullopt;
    const bool more = rest->b.size() > 0;
    Matrix layer(k + (more ? 1 : 0), c), above(count, layer.rows() + 1);
    layer.topRows(k) = rest->signs.asDiagonal() * V;
    above.leftCols(k) = 2 * U;
    above.rightCols(1) = R.rightCols(1) - U * rest->signs.asDiagonal() * V.rightCols(1);
    if (more && rest->plane >= 0) {
      // b v.p = t (z - constant) with z of the unit j, z = max(z, 0) - max(-z, 0).
      const Index j = rest->plane;
      const Vector w = layer.row(j).head(c - 1).transpose();
      const Vector t = rest->b * (rest->v.dot(w) / w.squaredNorm());
      layer.row(k) = -layer.row(j);
      above.col(j) += t;
      above.col(k) = -t;
      above.rightCols(1) -= t * layer(j, c - 1);
    } else if (more) {
      const Vector values = p * rest->v;
      const double least = values.minCoeff(), range = values.maxCoeff() - least;
      const double constant = kTidy.beyond_least * range - least;
      layer.row(k) << rest->v.transpose(), constant;
      above.col(k) = rest->b;
      above.rightCols(1) -= rest->b * constant;
    }
    for (std::size_t u = l + 1, at = 0; u <= depth; ++u) {
      const Index other = rows[u].cols() - c - k, mine = rows[u].rows();
      Matrix next(mine, other + above.cols());
      next << rows[u].leftCols(other), above.middleRows(static_cast<Index>(at), mine);
      rows[u] = std::move(next);
      at += static_cast<std::size_t>(mine);
    }
    p = ((p * layer.leftCols(c - 1).transpose()).rowwise() + layer.col(c - 1).transpose()).cwiseMax(0).eval();
    plain.V.push_back(std::move(layer));
  }
  plain.C = rows.back().transpose();
  return plain;
}

}  // namespace exhume
