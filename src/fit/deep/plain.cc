#include "fit/deep/plain.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/order.h"
#include "fit/deep/prune.h"
#include "fit/signs.h"
#include "fit/sums.h"
#include "model/form.h"

namespace exhume {
namespace {

constexpr double kEquationsMet = 1e-6;  // of their norm, by signs that are right
constexpr Index kNobody = -1;

// For every input the unit whose weight it leaves open, or nobody; nothing where it is more than one.
std::optional<std::vector<Index>> find_open_weights(const Form& form, const Eigen::Ref<const RowMatrix>& h) {
  const FormRows rows(form, h);
  const Matrix above = (rows.Q(0).array() > 0).cast<double>(), below = 1 - above.array();
  const Matrix active = (h.array() != 0).cast<double>();
  // Rows on which unit j is on that side and input a is not zero.
  const Matrix on = above.transpose() * active, off = below.transpose() * active;
  std::vector<Index> open(static_cast<std::size_t>(h.cols()), kNobody);
  for (Index j = 0; j < on.rows(); ++j) {
    for (Index a = 0; a < on.cols(); ++a) {
      if (std::min(on(j, a), off(j, a)) > 0) continue;
      if (open[static_cast<std::size_t>(a)] != kNobody) return std::nullopt;
      open[static_cast<std::size_t>(a)] = j;
    }
  }
  return open;
}

}  // namespace

std::optional<OpenSigns> signs_with_open_weights(const Form& form, const Eigen::Ref<const RowMatrix>& h) {
  const Index k = form.V[0].rows(), m = form.C.cols();
  const std::optional<std::vector<Index>> open = find_open_weights(form, h);
  if (!open) return std::nullopt;
  std::vector<Index> told, others;
  for (Index a = 0; a < h.cols(); ++a)
    ((*open)[static_cast<std::size_t>(a)] == kNobody ? told : others).push_back(a);
  if (others.empty() || told.empty()) return std::nullopt;
  const Matrix U = form.C.topRows(k).transpose(), R = form.C.bottomRows(h.cols() + 1).transpose();
  const Matrix& V = form.V[0];
  Matrix M(m * static_cast<Index>(told.size()), k);
  Vector right(M.rows());
  Index at = 0;
  for (Index o = 0; o < m; ++o) {
    for (const Index a : told) {
      const double norm = std::max(U.row(o).norm(), kTiny);
      M.row(at) = U.row(o).cwiseProduct(V.col(a).transpose()) / norm;
      right(at++) = R(o, a) / norm;
    }
  }
  const std::optional<Vector> signs = signs_that_solve(M, right, kEquationsMet);
  if (!signs) return std::nullopt;
  OpenSigns out;
  out.s = *signs;
  out.V = V;
  for (const Index a : others) {
    const Index j = (*open)[static_cast<std::size_t>(a)];
    const Vector missing = R.col(a) - U * out.s.cwiseProduct(V.col(a));
    // Another weight changes |q| on the other side, and R by as much against it: twice.
    const Vector u = 2 * out.s(j) * U.col(j);
    out.V(j, a) += missing.dot(u) / std::max(u.squaredNorm(), kTiny);
  }
  return out;
}

namespace {

constexpr Index kLeastRows = 2;          // with which the free bias leaves an equation
constexpr double kOneDirection = 1e-6;   // what is left across alpha, of what is left along it
constexpr double kEquationsTrue = 1e-9;  // of their norm, by signs that are right
constexpr Index kMostLeft = 12;          // of which each may be there for another reason

// All of these rows are those on which the unit is off.
std::optional<Matrix> add_unit_off_on(const Form& form, const DeepData& left) {
  const Index k = form.V[0].rows(), c = form.V[0].cols() - 1, m = form.C.cols(), rows = left.rows();
  if (rows < kLeastRows || k == 0) return std::nullopt;
  const Matrix E = left.y - evaluate(form, left.x);
  const Eigen::SelfAdjointEigenSolver<Matrix> outputs(Matrix(E.transpose() * E));
  const Vector squares = outputs.eigenvalues();  // increasing
  if (m > 1 && !(squares(m - 2) < kOneDirection * kOneDirection * squares(m - 1))) return std::nullopt;
  const Vector alpha = outputs.eigenvectors().col(m - 1);
  const Matrix U = form.C.topRows(k).transpose(), R = form.C.middleRows(k, c).transpose();
  const Matrix V = form.V[0].leftCols(c);
  const Vector mean = left.x.colwise().mean().transpose(), along = E * alpha;
  const Matrix centred = left.x.rowwise() - mean.transpose();
  Matrix M(rows + (m - 1) * c, k);
  Vector right(M.rows());
  M.topRows(rows) = centred * V.transpose() * Vector(U.transpose() * alpha).asDiagonal();
  right.head(rows) = centred * (R.transpose() * alpha) + Vector(along.array() - along.mean());
  for (Index o = 0; o + 1 < m; ++o) {
    const Vector e = outputs.eigenvectors().col(o);
    M.middleRows(rows + o * c, c) = V.transpose() * Vector(U.transpose() * e).asDiagonal();
    right.segment(rows + o * c, c) = R.transpose() * e;
  }
  const std::optional<Vector> s = signs_that_solve(M, right, kEquationsTrue);
  if (!s) return std::nullopt;
  const Vector w = (R - U * s->asDiagonal() * V).transpose() * alpha;
  const double b = -along.mean() - w.dot(mean);
  // Off on all of these rows: its turn.
  const Vector z = (left.x * w).array() + b;
  if (z.minCoeff() < 0 && z.maxCoeff() > 0) return std::nullopt;
  Matrix out(k + 1, c + 1);
  out.topRows(k) = s->asDiagonal() * form.V[0];
  out.bottomRows(1) << w.transpose(), b;
  if (z.sum() > 0) out.bottomRows(1) *= -1;
  return out;
}

}  // namespace

std::optional<Matrix> add_nearly_linear_unit(const Form& form, const DeepData& left) {
  std::optional<Matrix> out = add_unit_off_on(form, left);
  if (left.rows() > kMostLeft) return out;
  // One of them may show something else: a weight that the other rows leave open, say.
  for (Index i = 0; i < left.rows() && !out; ++i) {
    DeepData others = left;
    static_cast<void>(others.take_out({i}));
    out = add_unit_off_on(form, others);
  }
  return out;
}

namespace {

constexpr int kLayerSteps = 40;       // of a layer's polish
constexpr double kSideRows = 3;       // for every weight of a unit, on either side of its kink
constexpr double kSignsMet = 1e-3;    // distance from +-1 of signs that are told
constexpr double kExpressed = 1e-10;  // relative mean square of a unit that is expressed exactly

// All that stands on the first layer, rows of unit norm: columns on |Q_1|, x, 1.
Matrix on_first_layer(const Form& form) {
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

// Features as combinations of others: weights by least squares on the rows `of`, and the relative mean square
// left.
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
Vector express_on_best_side(const Matrix& P, const Vector& q) {
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
DeepData rows_on_all_sides(const Form& form, const DeepData& data, double each) {
  const Index first = enough_rows(data, form, each).rows();
  std::vector<Index> taken = numbers_below(first);
  std::vector<std::array<Vector, 2>> short_of;  // rows, of every unit of a layer
  for (std::size_t l = 1; l < form.depth(); ++l)
    short_of.emplace_back().fill(
        Vector::Constant(form.V[l].rows(), kSideRows * static_cast<double>(form.V[l].cols())));
  for (Index at = 0; at < data.rows(); at += kBlockRows) {
    const Index count = std::min(kBlockRows, data.rows() - at);
    const FormRows block(form, data.x.middleRows(at, count));
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
Form express_on_outputs(const Form& form, const FormRows& rows, const Matrix& h) {
  Form out;
  out.inputs = h.cols();
  Matrix P(h.rows(), h.cols() + 1);
  P << h, Vector::Ones(h.rows());
  for (std::size_t u = 1; u < form.depth(); ++u) {
    const Index k = form.V[u].rows();
    Matrix V(k, P.cols());
    for (Index j = 0; j < k; ++j) V.row(j) = express_on_best_side(P, rows.Q(u).col(j)).transpose();
    Matrix next(P.rows(), k + P.cols());
    next << (P * V.transpose()).cwiseAbs(), P;
    P = std::move(next);
    out.V.push_back(std::move(V));
  }
  return out;
}

PolishOptions layer_polish(double exact) {
  DeepPolishOptions polishing;
  polishing.max_iterations = kLayerSteps;
  polishing.hope = 6;
  polishing.hopeful = exact;
  polishing.enough_relative = 1e-28;
  return polishing;
}

// The first layer of the form, every unit turned as its sign says; x: its inputs; left: rows that it does not
// reproduce.
Matrix turn_first_layer(const Form& form, const RowMatrix& x, const DeepData* left) {
  const Matrix above = on_first_layer(form);
  const Index k = form.V[0].rows();
  const LayerSigns signs = robust_signs(form.V[0], above.leftCols(k), above.rightCols(above.cols() - k));
  if (form.depth() == 1 && !(signs.off < kSignsMet)) {
    if (left) {
      if (std::optional<Matrix> more = add_nearly_linear_unit(form, *left)) return *std::move(more);
    }
    if (const std::optional<OpenSigns> open = signs_with_open_weights(form, x))
      return open->s.asDiagonal() * open->V;
  }
  return as_signs(signs.s).asDiagonal() * form.V[0];
}

// The signs of all layers but the last as the form stands, every unit in the outputs h of the layer below,
// and then the last layer on these: fewer weights than in all that is passed on, and rows that leave those
// open may tell these.
std::optional<Form> find_by_all_signs(const Form& form, const DeepData& rows, double exact,
                                      const Control& control) {
  Form plain;
  plain.given = form.given;
  plain.plain = true;
  plain.inputs = form.inputs;
  const FormRows view(form, rows.x);
  Form last;
  DeepData on = rows;
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const Index k = form.V[l].rows();
    if (k == 0) return std::nullopt;
    Matrix P(on.rows(), on.x.cols() + 1);
    P << on.x, Vector::Ones(on.rows());
    Matrix V = form.V[l];
    if (l > 0) {
      V.resize(k, P.cols());
      for (Index j = 0; j < k; ++j) V.row(j) = express_on_best_side(P, view.Q(l).col(j)).transpose();
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
  const Polished top = polish(last, on, layer_polish(exact), control);
  if (!(top.relative_mse < exact)) return std::nullopt;
  plain.V.push_back(turn_first_layer(top.form, on.x, nullptr));
  Polished polished = polish(plain, rows, layer_polish(exact), control);
  if (!(polished.relative_mse < exact)) return std::nullopt;
  return std::move(polished.form);
}

}  // namespace

std::optional<Form> find_plain_by_rows(const Form& sign_free, const DeepData& data, const DeepData* left,
                                       double each, double exact, const Control& control) {
  Form now = sign_free;
  normalise(now);
  Form plain;
  plain.given = sign_free.given;
  plain.plain = true;
  plain.inputs = now.inputs;
  DeepData rows = rows_on_all_sides(now, data, each);
  if (now.depth() > 2) {
    if (std::optional<Form> found = find_by_all_signs(now, rows, exact, control)) return found;
  }
  std::optional<DeepData> others;
  if (left) others = *left;
  while (now.depth() > 0) {
    if (now.V[0].rows() == 0) return std::nullopt;
    now.V[0] = turn_first_layer(now, rows.x, others ? &*others : nullptr);
    if (others) others = DeepData(FormRows(now, others->x).Q(0).cwiseMax(0.0), others->y);
    const FormRows view(now, rows.x);
    const Matrix h = view.Q(0).cwiseMax(0.0);
    Form upper = express_on_outputs(now, view, h);
    plain.V.push_back(now.V[0]);
    rows = DeepData(h, rows.y);
    const Polished polished = polish(upper, rows, layer_polish(exact), control);
    // Weights that were open come to fewer digits; a polish of the plain network follows.
    if (!(polished.relative_mse < (upper.depth() > 0 ? exact : kExpressed))) return std::nullopt;
    now = polished.form;
  }
  plain.C = now.C;
  return plain;
}

}  // namespace exhume
