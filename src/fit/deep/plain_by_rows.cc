#include "fit/deep/plain_by_rows.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "fit/deep/nearly_linear.h"
#include "fit/deep/open_signs.h"
#include "fit/deep/prune.h"
#include "fit/deep/rows.h"
#include "fit/deep/signs.h"
#include "fit/normal_sums.h"

namespace exhume {
namespace {

constexpr int kLayerSteps = 40;       // of a layer's polish
constexpr double kSideRows = 3;       // for every weight of a unit, on either side of its kink
constexpr Index kBlockRows = 4096;    // that are looked at at once
constexpr double kSignsMet = 1e-3;    // distance from +-1 of signs that are told
constexpr double kExpressed = 1e-10;  // relative mean square of a unit that is expressed exactly

// All that stands on the first layer, rows of unit norm: columns on |Q_1|, x, 1.
Matrix on_first_layer(const DeepForm& form) {
  const Index k = form.V[0].rows(), columns = k + form.V[0].cols();
  Index count = form.C.cols();
  for (std::size_t u = 1; u < form.depth(); ++u) count += form.V[u].rows();
  Matrix out(count, columns);
  Index at = 0;
  for (std::size_t u = 1; u < form.depth(); ++u) {
    out.middleRows(at, form.V[u].rows()) = form.V[u].rightCols(columns);
    at += form.V[u].rows();
  }
  out.bottomRows(form.C.cols()) = form.C.bottomRows(columns).transpose();
  for (Index r = 0; r < count; ++r) out.row(r) /= std::max(out.row(r).norm(), kTiny);
  return out;
}

// Features as combinations of others: weights by least squares on the rows `of`, and the relative mean square left.
struct Expressed {
  Vector weights;
  double left = 1;
};

Expressed express(const Matrix& P, const Vector& q, const std::vector<Index>& of) {
  const Matrix some = P(of, Eigen::all);
  const Vector values = q(of);
  Expressed out;
  out.weights = solve_scaled(some.transpose() * some, some.transpose() * values);
  out.weights += solve_scaled(some.transpose() * some, some.transpose() * (values - some * out.weights));
  out.left = (values - some * out.weights).squaredNorm() / std::max(values.squaredNorm(), kTiny);
  return out;
}

// q in the columns of P: on all rows, or on that side of its kink where it goes better.
Vector expressed(const Matrix& P, const Vector& q) {
  std::vector<Index> all, above, below;
  for (Index i = 0; i < q.size(); ++i) {
    all.push_back(i);
    (q(i) > 0 ? above : below).push_back(i);
  }
  const Expressed whole = express(P, q, all);
  if (whole.left < kExpressed) return whole.weights;
  Expressed best = whole;
  for (const std::vector<Index>* side : {&above, &below}) {
    if (static_cast<Index>(side->size()) < P.cols()) continue;
    Expressed now = express(P, q, *side);
    if (now.left < best.left) best = std::move(now);
  }
  return best.weights;
}

// Enough rows to fit, and more of those on that side of a unit's kink that these hardly show.
DeepData rows_on_all_sides(const DeepForm& form, const DeepData& data, double each) {
  const Index first = enough_rows(data, form, each).rows();
  std::vector<Index> taken(static_cast<std::size_t>(first));
  std::iota(taken.begin(), taken.end(), Index{0});
  std::vector<std::array<Vector, 2>> short_of;  // rows, of every unit of a layer
  for (std::size_t l = 1; l < form.depth(); ++l)
    short_of.emplace_back().fill(
        Vector::Constant(form.V[l].rows(), kSideRows * static_cast<double>(form.V[l].cols())));
  for (Index at = 0; at < data.rows(); at += kBlockRows) {
    const Index count = std::min(kBlockRows, data.rows() - at);
    const DeepRows block(form, data.x.middleRows(at, count));
    for (Index i = 0; i < count; ++i) {
      bool wanted = at + i < first;
      for (std::size_t l = 1; l < form.depth(); ++l)
        for (Index j = 0; j < form.V[l].rows(); ++j)
          wanted = wanted || short_of[l - 1][block.Q(l)(i, j) > 0 ? 1 : 0](j) > 0;
      if (!wanted) continue;
      if (at + i >= first) taken.push_back(at + i);
      for (std::size_t l = 1; l < form.depth(); ++l)
        for (Index j = 0; j < form.V[l].rows(); ++j) --short_of[l - 1][block.Q(l)(i, j) > 0 ? 1 : 0](j);
    }
  }
  return {data.x(taken, Eigen::all), data.y(taken, Eigen::all)};
}

// The layers above the first, in its outputs h.
DeepForm on_outputs(const DeepForm& form, const DeepRows& rows, const Matrix& h) {
  DeepForm out;
  out.inputs = h.cols();
  Matrix P(h.rows(), h.cols() + 1);
  P << h, Vector::Ones(h.rows());
  for (std::size_t u = 1; u < form.depth(); ++u) {
    const Index k = form.V[u].rows();
    Matrix V(k, P.cols());
    for (Index j = 0; j < k; ++j) V.row(j) = expressed(P, rows.Q(u).col(j)).transpose();
    Matrix next(P.rows(), k + P.cols());
    next << (P * V.transpose()).cwiseAbs(), P;
    P = std::move(next);
    out.V.push_back(std::move(V));
  }
  return out;
}

DeepPolishOptions until(double exact) {
  DeepPolishOptions polishing;
  polishing.max_iterations = kLayerSteps;
  polishing.hope = 6;
  polishing.hopeful = exact;
  polishing.enough_relative = 1e-28;
  return polishing;
}

Vector as_signs(const Vector& s) {
  return (s.array() < 0).select(Vector::Constant(s.size(), -1), Vector::Ones(s.size()));
}

// The first layer of the form, every unit turned as its sign says; x: its inputs; left: rows that it does not reproduce.
Matrix first_layer_turned(const DeepForm& form, const RowMatrix& x, const DeepData* left) {
  const Matrix above = on_first_layer(form);
  const Index k = form.V[0].rows();
  const LayerSigns signs = robust_signs(form.V[0], above.leftCols(k), above.rightCols(above.cols() - k));
  if (form.depth() == 1 && !(signs.off < kSignsMet)) {
    if (left) {
      if (std::optional<Matrix> more = with_nearly_linear_unit(form, *left)) return *std::move(more);
    }
    if (const std::optional<OpenSigns> open = signs_with_open_weights(form, x))
      return open->s.asDiagonal() * open->V;
  }
  return as_signs(signs.s).asDiagonal() * form.V[0];
}

// The signs of all layers but the last as the form stands, every unit in the outputs h of the layer below, and then
// the last layer on these: fewer weights than in all that is passed on, and rows that leave those open may tell these.
std::optional<DeepForm> by_all_signs(const DeepForm& form, const DeepData& rows, double exact,
                                     const Control& control) {
  DeepForm plain;
  plain.given = form.given;
  plain.plain = true;
  plain.inputs = form.inputs;
  const DeepRows view(form, rows.x);
  DeepForm last;
  DeepData on = rows;
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const Index k = form.V[l].rows();
    if (k == 0) return std::nullopt;
    Matrix P(on.rows(), on.x.cols() + 1);
    P << on.x, Vector::Ones(on.rows());
    Matrix V = form.V[l];
    if (l > 0) {
      V.resize(k, P.cols());
      for (Index j = 0; j < k; ++j) V.row(j) = expressed(P, view.Q(l).col(j)).transpose();
    }
    if (l + 1 == form.depth()) {
      last.inputs = on.x.cols();
      last.V.push_back(std::move(V));
      break;
    }
    const Matrix& above = form.V[l + 1];
    V = as_signs(robust_signs(form.V[l], above.leftCols(k), above.rightCols(above.cols() - k)).s)
            .asDiagonal() *
        V;
    on = DeepData((P * V.transpose()).cwiseMax(0.0), rows.y);
    plain.V.push_back(std::move(V));
  }
  const DeepPolished top = polish(last, on, until(exact), control);
  if (!(top.relative_mse < exact)) return std::nullopt;
  plain.V.push_back(first_layer_turned(top.form, on.x, nullptr));
  DeepPolished polished = polish(plain, rows, until(exact), control);
  if (!(polished.relative_mse < exact)) return std::nullopt;
  return std::move(polished.form);
}

}  // namespace

std::optional<DeepForm> plain_by_rows(const DeepForm& sign_free, const DeepData& data, const DeepData* left,
                                      double each, double exact, const Control& control) {
  DeepForm now = sign_free;
  normalise(now);
  DeepForm plain;
  plain.given = sign_free.given;
  plain.plain = true;
  plain.inputs = now.inputs;
  DeepData rows = rows_on_all_sides(now, data, each);
  if (now.depth() > 2) {
    if (std::optional<DeepForm> found = by_all_signs(now, rows, exact, control)) return found;
  }
  std::optional<DeepData> others;
  if (left) others = *left;
  while (now.depth() > 0) {
    if (now.V[0].rows() == 0) return std::nullopt;
    now.V[0] = first_layer_turned(now, rows.x, others ? &*others : nullptr);
    if (others) others = DeepData(DeepRows(now, others->x).Q(0).cwiseMax(0.0), others->y);
    const DeepRows view(now, rows.x);
    const Matrix h = view.Q(0).cwiseMax(0.0);
    DeepForm upper = on_outputs(now, view, h);
    plain.V.push_back(now.V[0]);
    rows = DeepData(h, rows.y);
    const DeepPolished polished = polish(upper, rows, until(exact), control);
    // Weights that were open come to fewer digits; a polish of the plain network follows.
    if (!(polished.relative_mse < (upper.depth() > 0 ? exact : kExpressed))) return std::nullopt;
    now = polished.form;
  }
  plain.C = now.C;
  return plain;
}

}  // namespace exhume
