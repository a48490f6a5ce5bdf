#include "fit/deep/plain_by_rows.h"

#include <Eigen/Dense>
#include <cmath>
#include <utility>
#include <vector>

#include "exhume/fit/deep/prune.h"
#include "exhume/fit/deep/signs.h"
#include "fit/deep/rows.h"
#include "fit/normal_sums.h"

namespace exhume {
namespace {

constexpr int kSteps = 40;            // of a layer's polish
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

}  // namespace

std::optional<DeepForm> plain_by_rows(const DeepForm& sign_free, const DeepData& data, double each,
                                      double exact, const Control& control) {
  DeepForm now = sign_free;
  normalise(now);
  DeepForm plain;
  plain.given = sign_free.given;
  plain.plain = true;
  plain.inputs = now.inputs;
  DeepData rows = enough_rows(data, now, each);
  while (now.depth() > 0) {
    if (now.V[0].rows() == 0) return std::nullopt;
    const Matrix above = on_first_layer(now);
    const Index k = now.V[0].rows();
    const LayerSigns signs = robust_signs(now.V[0], above.leftCols(k), above.rightCols(above.cols() - k));
    const Vector s = (signs.s.array() < 0).select(Vector::Constant(k, -1), Vector::Ones(k));
    const DeepRows view(now, rows.x);
    const Matrix h = (view.Q(0) * s.asDiagonal()).cwiseMax(0.0);
    DeepForm upper = on_outputs(now, view, h);
    plain.V.emplace_back(s.asDiagonal() * now.V[0]);
    rows = DeepData(h, rows.y);
    DeepPolishOptions polishing;
    polishing.max_iterations = kSteps;
    polishing.hope = 6;
    polishing.hopeful = exact;
    polishing.enough_relative = 1e-28;
    const DeepPolished polished = polish(upper, rows, polishing, control);
    if (!(polished.relative_mse < exact)) return std::nullopt;
    now = polished.form;
  }
  plain.C = now.C;
  return plain;
}

}  // namespace exhume
