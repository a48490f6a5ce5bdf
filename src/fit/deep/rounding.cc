#include "fit/deep/rounding.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/order.h"
#include "fit/deep/prune.h"
#include "fit/signs.h"
#include "model/form.h"

namespace exhume {
namespace {

// Share of the rows that a polish leaves out, those it fits worst: at first; the factor by which it grows
// where that is not enough; and at most.
constexpr double kLeftOut = 0.01, kMoreLeftOut = 4, kMostLeftOut = 0.17;
constexpr int kStepsARound = 6;
constexpr double kFalls = 0.3;  // a round that leaves more of the error than this is a slow one
// Slow rounds in a row that end the polish: kSlowRounds, or one of kSlowOneOf rounds where these are many.
constexpr int kSlowRounds = 2;
constexpr int kSlowOneOf = 6;
constexpr double kRounding = 1e-26;  // relative mean squared residual at which a polish stops
constexpr double kRowOff = 1e3;      // squared residual of a row, over the mean one, that is still rounding

// All rows but those with the largest squares, in their order.
std::vector<Index> all_but_worst(const Vector& squares, double share) {
  std::vector<Index> rows = numbers_below(squares.size());
  const auto kept = static_cast<std::ptrdiff_t>((1 - share) * static_cast<double>(rows.size()));
  std::nth_element(rows.begin(), rows.begin() + kept, rows.end(), [&](Index i, Index j) {
    return squares(i) != squares(j) ? squares(i) < squares(j) : i < j;
  });
  rows.resize(static_cast<std::size_t>(kept));
  std::sort(rows.begin(), rows.end());
  return rows;
}

double sum_of(const Vector& values, const std::vector<Index>& rows) {
  double sum = 0;
  for (const Index i : rows) sum += values(i);
  return sum;
}

}  // namespace

DeepData rows_of(const DeepData& data, const std::vector<Index>& rows) {
  return {data.x(rows, Eigen::all), data.y(rows, Eigen::all)};
}

double most_off(const DeepData& data, double exact) {
  return std::sqrt(kRowOff * exact * data.variation / static_cast<double>(data.rows()));
}

std::vector<Index> rows_off(const Form& form, const DeepData& data, double by, const Control& control) {
  const Vector squares = data.squares(form, control);
  std::vector<Index> rows;
  for (Index i = 0; i < squares.size(); ++i)
    if (squares(i) >= by * by) rows.push_back(i);
  return rows;
}

std::vector<Index> not_reproduced(const Form& form, const DeepData& data, double exact,
                                  const Control& control) {
  return rows_off(form, data, most_off(data, exact), control);
}

MostRows polish_most(const Form& start, const DeepData& data, double each, double exact, int rounds,
                     const Control& control) {
  MostRows out{{start, 1, 0, true}, false, {}};
  DeepPolishOptions polishing;
  polishing.max_iterations = kStepsARound;
  polishing.enough_relative = kRounding;
  fit_linear_part(out.fit.form, enough_rows(data, start, each), control);
  Vector squares = data.squares(out.fit.form, control);
  const double limit = std::pow(most_off(data, exact), 2);
  double before = squares.sum() / data.variation;
  double share = kLeftOut;
  for (int round = 0, slow = 0; round < rounds;) {
    const DeepData kept = rows_of(data, all_but_worst(squares, share));
    const Polished polished = polish(out.fit.form, enough_rows(kept, out.fit.form, each), polishing, control);
    out.fit.form = polished.form;
    out.fit.iterations += polished.iterations;
    out.fit.in_time = polished.in_time;
    squares = data.squares(out.fit.form, control);
    const std::vector<Index> best = all_but_worst(squares, share);
    out.fit.relative_mse = squares(best).sum() / data.variation;
    out.exact = out.fit.relative_mse < exact && squares(best).maxCoeff() < limit;
    if (out.exact || !out.fit.in_time) break;
    const bool falls = out.fit.relative_mse < kFalls * before;
    slow = falls ? 0 : slow + 1;
    round += falls ? 0 : 1;
    before = out.fit.relative_mse;
    if (slow < std::max(kSlowRounds, rounds / kSlowOneOf)) continue;
    // More rows may be off, where the others are much better than these.
    share *= kMoreLeftOut;
    if (share > kMostLeftOut) break;
    const std::vector<Index> fewer = all_but_worst(squares, share);
    if (sum_of(squares, fewer) > kFalls * sum_of(squares, best)) break;
    slow = 0;
  }
  if (!out.exact) return out;
  out.left = not_reproduced(out.fit.form, data, exact, control);
  return out;
}

bool drop_rare_units(Form& form, const DeepData& data, std::vector<Index>& left) {
  std::vector<bool> reproduced(static_cast<std::size_t>(data.rows()), true);
  for (Index i : left) reproduced[static_cast<std::size_t>(i)] = false;
  bool any = false;
  for (std::size_t l = form.depth(); l-- > 1;) {
    const Form before = form;
    const FormRows rows(before,
                        data.x);  // to fold a unit changes what stands on it, not the others of its layer
    for (Index j = before.V[l].rows(); j-- > 0;) {
      std::array<std::vector<Index>, 2> sides;  // of the rows that are reproduced
      for (Index i = 0; i < data.rows(); ++i)
        if (reproduced[static_cast<std::size_t>(i)]) sides[rows.Q(l)(i, j) > 0 ? 1 : 0].push_back(i);
      const bool mostly = sides[1].size() > sides[0].size();
      const std::vector<Index>& few = sides[mostly ? 0 : 1];
      if (static_cast<Index>(few.size()) >= before.V[l].cols() + kOverFew) continue;
      form = folded(form, l, j, mostly ? 1 : -1);
      for (Index i : few) {
        left.push_back(i);
        reproduced[static_cast<std::size_t>(i)] = false;
      }
      any = true;
    }
  }
  std::sort(left.begin(), left.end());
  return any;
}

namespace {

constexpr std::size_t kMostSets = 6;     // of rows with the same sides above, or of one direction
constexpr int kDirections = 64;          // that are looked at
constexpr double kSameDirection = 1e-6;  // sin of the angle between them
constexpr int kAbsoluteRounds = 30;      // solutions of a system by its absolute residuals
constexpr double kSignsOff = 1e-3, kSignsOpen = 1e-6;  // of signs that are told (fit/signs.h)

// Columns on which a unit of a layer may stand, and its row of V_l for weights w on them: v = row^T w.
struct Standing {
  Matrix P, row;
};

// All of P_{l-1}; and where the units that are there tell the signs below, h_{l-1} = (|q| + s q)/2 and 1
// alone: a plain network has no others, and fewer weights are read off fewer rows.
std::vector<Standing> what_units_stand_on(const Form& form, std::size_t l, const FormRows& rows) {
  const auto [from, count] = rows.layout().below[l];
  std::vector<Standing> out;
  out.push_back({rows.P().middleCols(from, count), Matrix::Identity(count, count)});
  if (form.plain || l == 0 || form.V[l].rows() == 0 || form.V[l - 1].rows() == 0) return out;
  const Matrix& below = form.V[l - 1];
  const Index k = below.rows();
  const LayerSigns signs = robust_signs(below, form.V[l].leftCols(k), form.V[l].rightCols(count - k));
  if (!(signs.off < kSignsOff && signs.smallest_singular > kSignsOpen)) return out;
  const Vector s = as_signs(signs.s);
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

// Sets of rows on which what is left has one direction in the outputs: that of what stands on one missing
// unit. Rows on which several act have directions of their own.
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

// Rows on which one unit of the last layer may show: all, those on either side of 0, where two units are
// missing that act against each other, and those of one direction.
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

// Below the last layer: those for which all units above are on the same side, so that the outputs are linear
// in what the unit adds. The largest such sets, and all rows.
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

std::optional<Form> add_missing_unit(const Form& form, std::size_t l, const DeepData& left,
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

namespace {

constexpr int kMissing = 8;  // units that are read off rows, at most
constexpr int kSteps = 30;   // of a polish that has to explain all rows

class Towards {
 public:
  Towards(DeepData& data, double each, double exact, const Control& control)
      : data_(data), each_(each), exact_(exact), control_(control) {}

  ToRounding run(const Form& start, int rounds) {
    MostRows most = polish_most(start, data_, each_, exact_, rounds, control_);
    if (!most.exact) return outcome(most);
    // Superfluous units may explain the rows that are left, once these join the fit; but not units that were
    // made up for a handful of rows.
    const Form wide = most.fit.form;
    drop_rare_units(most.fit.form, data_, most.left);
    const auto enough = static_cast<std::size_t>(wide.V.back().cols());
    if (most.left.empty() || most.left.size() > enough) {
      Polished all = polish_with_say(wide, most.left);
      if (all.relative_mse < exact_) return {std::move(all), false, {}};
    }
    // The rows that are left may show a weight that no other row shows; then no unit is missing.
    for (const bool singly : {false, true}) {
      prune_reproduced(most, singly);
      if (most.left.empty()) break;
      Polished all = polish_with_say(most.fit.form, most.left);
      if (all.relative_mse < exact_) return {std::move(all), minimal_, {}};
      if (control_.out_of_time()) break;
    }
    for (int i = 0; i < kMissing && !most.left.empty() && !control_.out_of_time(); ++i)
      if (!explain_left(most)) break;
    if (most.exact && most.left.empty()) most.fit = polish_all_rows(most.fit.form);
    return outcome(most);
  }

 private:
  ToRounding outcome(MostRows& most) {
    most.fit.relative_mse = relative_error(most.fit.form, data_, control_);
    return {std::move(most.fit), minimal_, std::move(most.left)};
  }

  // On the rows that are reproduced; what is made up for a handful of them goes first, and again.
  void prune_reproduced(MostRows& most, bool singly) {
    PruneOptions pruning;
    pruning.exact = exact_;
    pruning.singly = singly;
    pruning.given_too = false;  // tried in the plain network
    // Only the least network has signs; its units are tried in the plain form.
    pruning.until = [](const Form& form) { return find_signs(form).plain; };
    most.left = not_reproduced(most.fit.form, data_, exact_, control_);  // in today's order of the rows
    do {
      DeepData reproduced = data_;
      static_cast<void>(reproduced.take_out(most.left));
      most.fit.relative_mse = relative_error(most.fit.form, reproduced, control_);
      Pruned pruned = prune(most.fit, reproduced, pruning, control_);
      most.fit = std::move(pruned.fit);
      minimal_ = pruned.minimal && singly && most.fit.form.given == 0;
      most.left = not_reproduced(most.fit.form, data_, exact_, control_);
    } while (!control_.out_of_time() && drop_rare_units(most.fit.form, data_, most.left));
  }

  // A unit more, so that fewer rows are left; false where no layer has one.
  bool explain_left(MostRows& most) {
    const DeepData left = rows_of(data_, most.left);
    MostRows best = most;
    bool found = false;
    for (std::size_t l = most.fit.form.depth(); l-- > 1;) {
      const std::optional<Form> more = add_missing_unit(most.fit.form, l, left, most_off(data_, exact_));
      if (!more) continue;
      MostRows now = polish_most(polish_with_say(*more, most.left).form, data_, each_, exact_, 1, control_);
      if (!now.exact || now.left.size() >= best.left.size()) continue;
      best = std::move(now);
      found = true;
    }
    if (found) {
      most = std::move(best);
      minimal_ = false;
    }
    most.left = not_reproduced(most.fit.form, data_, exact_, control_);  // in today's order of the rows
    return found;
  }

  // A polish that begins with the rows that are left, brought forward.
  Polished polish_with_say(const Form& form, std::vector<Index>& left) {
    data_.bring_forward(form, static_cast<Index>(left.size()), 0, control_);
    left = numbers_below(static_cast<Index>(left.size()));
    return polish_all_rows(form);
  }

  Polished polish_all_rows(const Form& form) {
    DeepPolishOptions polishing;
    polishing.max_iterations = kSteps;
    polishing.hope = 6;
    polishing.hopeful = exact_;
    polishing.enough_relative = 1e-26;
    return polish_all(form, data_, each_, exact_, polishing, control_);
  }

  DeepData& data_;
  double each_, exact_;
  bool minimal_ = false;
  const Control& control_;
};

}  // namespace

ToRounding to_rounding(const Form& start, DeepData& data, double each, double exact, int rounds,
                       const Control& control) {
  return Towards(data, each, exact, control).run(start, rounds);
}

}  // namespace exhume
