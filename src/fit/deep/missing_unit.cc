#include "fit/deep/missing_unit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <map>
#include <utility>

#include "model/form.h"
#include "fit/deep/signs.h"

namespace exhume {
namespace {

constexpr std::size_t kMostSets = 6;     // of rows with the same sides above, or of one direction
constexpr int kDirections = 64;          // that are looked at
constexpr double kSameDirection = 1e-6;  // sin of the angle between them
constexpr int kAbsoluteRounds = 30;      // solutions of a system by its absolute residuals
constexpr double kSignsOff = 1e-3, kSignsOpen = 1e-6;  // of signs that are told (fit/deep/signs.h)

// Columns on which a unit of a layer may stand, and its row of V_l for weights w on them: v = row^T w.
struct Standing {
  Matrix P, row;
};

// All of P_{l-1}; and where the units that are there tell the signs below, h_{l-1} = (|q| + s q)/2 and 1 alone: a plain
// network has no others, and fewer weights are read off fewer rows.
std::vector<Standing> what_units_stand_on(const Form& form, std::size_t l, const FormRows& rows) {
  const auto [from, count] = rows.layout().below[l];
  std::vector<Standing> out;
  out.push_back({rows.P().middleCols(from, count), Matrix::Identity(count, count)});
  if (form.plain || l == 0 || form.V[l].rows() == 0 || form.V[l - 1].rows() == 0) return out;
  const Matrix& below = form.V[l - 1];
  const Index k = below.rows();
  const LayerSigns signs = robust_signs(below, form.V[l].leftCols(k), form.V[l].rightCols(count - k));
  if (!(signs.off < kSignsOff && signs.smallest_singular > kSignsOpen)) return out;
  const Vector s = (signs.s.array() < 0).select(Vector::Constant(k, -1), Vector::Ones(k));
  Standing plain;
  plain.row = Matrix::Zero(k + 1, count);
  plain.row.topLeftCorner(k, k) = 0.5 * Matrix::Identity(k, k);
  plain.row.topRightCorner(k, count - k) = 0.5 * s.asDiagonal() * below;
  plain.row(k, count - 1) = 1;
  plain.P = out.front().P * plain.row.transpose();
  out.push_back(std::move(plain));
  return out;
}

// The largest sets of those from `first` on, and all before.
void largest_first(std::vector<std::vector<Index>>& sets, std::ptrdiff_t first) {
  std::stable_sort(sets.begin() + first, sets.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  sets.resize(std::min(sets.size(), static_cast<std::size_t>(first) + kMostSets));
}

// The direction in outputs that most of it has.
Vector along_most(const Matrix& R) {
  const Eigen::SelfAdjointEigenSolver<Matrix> outputs(Matrix(R.transpose() * R));
  return R * outputs.eigenvectors().rightCols(1);
}

// Sets of rows on which what is left has one direction in the outputs: that of what stands on one missing unit. Rows on
// which several act have directions of their own.
std::vector<std::vector<Index>> same_direction(const Matrix& R) {
  std::vector<std::vector<Index>> out;
  if (R.cols() < 2) return out;
  const Vector norms = R.rowwise().norm().cwiseMax(kTiny);
  const Matrix unit = norms.cwiseInverse().asDiagonal() * R;
  std::vector<bool> placed(static_cast<std::size_t>(R.rows()), false);
  for (int i = 0; i < kDirections; ++i) {
    Index seed = -1;  // the largest row that is left tells its direction best
    for (Index r = 0; r < R.rows(); ++r)
      if (!placed[static_cast<std::size_t>(r)] && (seed < 0 || norms(r) > norms(seed))) seed = r;
    if (seed < 0) break;
    std::vector<Index> set;
    for (Index r = 0; r < R.rows(); ++r) {
      if (placed[static_cast<std::size_t>(r)]) continue;
      const double along = unit.row(r).dot(unit.row(seed));
      if ((unit.row(r) - along * unit.row(seed)).norm() > kSameDirection) continue;
      placed[static_cast<std::size_t>(r)] = true;
      set.push_back(r);
    }
    out.push_back(std::move(set));
  }
  largest_first(out, 0);
  return out;
}

// Rows on which one unit of the last layer may show: all, those on either side of 0, where two units are missing that act
// against each other, and those of one direction.
std::vector<std::vector<Index>> same_side(const Matrix& R) {
  const Vector r = along_most(R);
  std::vector<std::vector<Index>> out(3);
  for (Index i = 0; i < r.size(); ++i) {
    out[0].push_back(i);
    out[r(i) > 0 ? 1 : 2].push_back(i);
  }
  for (std::vector<Index>& set : same_direction(R)) out.push_back(std::move(set));
  return out;
}

// Below the last layer: those for which all units above are on the same side, so that the outputs are linear in what the
// unit adds. The largest such sets, and all rows.
std::vector<std::vector<Index>> same_above(const Form& form, std::size_t l, const FormRows& rows,
                                           Index least) {
  std::map<std::vector<bool>, std::vector<Index>> sets;
  std::vector<std::vector<Index>> out(1);
  for (Index i = 0; i < rows.P().rows(); ++i) {
    std::vector<bool> sides;
    for (std::size_t u = l + 1; u < form.depth(); ++u)
      for (Index j = 0; j < form.V[u].rows(); ++j) sides.push_back(rows.Q(u)(i, j) > 0);
    sets[sides].push_back(i);
    out[0].push_back(i);
  }
  for (auto& [sides, set] : sets)
    if (static_cast<Index>(set.size()) >= least) out.push_back(std::move(set));
  largest_first(out, 1);
  return out;
}

struct Reading {
  Vector v;             // a row of V_l, of any norm
  Index explained = 0;  // rows
};

// Least absolute residuals: rows of another unit, or where an upper one bends, do not count.
Reading read_unit(const Standing& standing, const Matrix& R, const std::vector<Index>& rows,
                  double tolerance) {
  const Matrix P = standing.P(rows, Eigen::all);
  const Vector values = along_most(R(rows, Eigen::all));
  const double largest = values.cwiseAbs().maxCoeff();
  if (!(largest > 0)) return {};
  Vector w, weight = Vector::Ones(values.size()), off;
  for (int i = 0; i < kAbsoluteRounds; ++i) {
    w = Eigen::ColPivHouseholderQR<Matrix>(Matrix(weight.asDiagonal() * P))
            .solve(Vector(weight.cwiseProduct(values)));
    off = (values - P * w).cwiseAbs();
    weight = (off.array() + 1e-12 * largest).rsqrt();
  }
  return {standing.row.transpose() * w, (off.array() < tolerance).count()};
}

}  // namespace

std::optional<Form> with_missing_unit(const Form& form, std::size_t l, const DeepData& left,
                                          double tolerance) {
  const FormRows rows(form, left.x);
  const Matrix R = left.y - rows.F() * form.C;
  const bool last = l + 1 == form.depth();
  Reading best;
  for (const Standing& standing : what_units_stand_on(form, l, rows)) {
    const Index least = standing.P.cols() + kOverFew;
    for (const std::vector<Index>& some : last ? same_side(R) : same_above(form, l, rows, least)) {
      if (static_cast<Index>(some.size()) < least) continue;
      Reading now = read_unit(standing, R, some, tolerance);
      if (last && now.explained < least) continue;
      if (now.v.norm() > 0 && now.explained > best.explained) best = std::move(now);
    }
  }
  if (best.v.size() == 0) return std::nullopt;
  const Vector& v = best.v;
  Form out = form;
  Matrix& V = out.V[l];
  V.conservativeResize(V.rows() + 1, Eigen::NoChange);
  V.bottomRows(1) = v.transpose() / v.norm();
  // What stands on the layer takes no part of it to begin with.
  const auto with_column = [&](Matrix& above, Index at) {
    Matrix wider = Matrix::Zero(above.rows(), above.cols() + 1);
    wider.leftCols(at) = above.leftCols(at);
    wider.rightCols(above.cols() - at) = above.rightCols(above.cols() - at);
    above = std::move(wider);
  };
  Index at = V.rows() - 1;  // of the new unit's feature, in what stands on it
  for (std::size_t u = l + 1; u < out.depth(); ++u) {
    with_column(out.V[u], at);
    if (out.plain) return out;
    at += out.V[u].rows();
  }
  Matrix C = out.C.transpose();
  with_column(C, at);
  out.C = C.transpose();
  return out;
}

}  // namespace exhume
