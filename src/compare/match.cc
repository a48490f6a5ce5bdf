#include "compare/match.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "model/activation_table.h"

namespace exhume {
namespace {

constexpr Index kPoints = 512;       // of the domain, for the size of features
constexpr double kLeastSize = 1e-3;  // of a feature, over the largest of its layer
constexpr double kFar = 0.6;         // rows of unit norm further apart than this are different units
// A scale this close to 1 is 1, unless it fits far better: rounded or perturbed weights were not scaled.
constexpr double kNearOne = 0.05, kFarBetter = 1e-3;

// Root mean square of every feature: by source.
std::vector<Vector> feature_sizes(const BlockNetwork& network, const RowMatrix& x) {
  std::vector<Vector> out;
  for (const RowMatrix& h : features(network, x)) {
    Vector size = (h.colwise().squaredNorm() / static_cast<double>(h.rows())).cwiseSqrt();
    // A unit that was off at all of these inputs may be on at others.
    if (size.size() > 0) size = size.cwiseMax(kLeastSize * size.maxCoeff());
    out.push_back(size);
  }
  return out;
}

// Rows of a layer over the columns that both networks have, times the size of the features, the bias last.
// paired[s]: columns of source s that have a partner; they come first.
RowMatrix weighted_rows(const BlockNetwork& network, std::size_t l, const std::vector<Index>& paired,
                        const std::vector<Vector>& sizes) {
  Index columns = 1;
  for (std::size_t s = 0; s <= l; ++s) columns += paired[s];
  RowMatrix rows = RowMatrix::Zero(network.layers[l].units(), columns);
  Index at = 0;
  for (std::size_t s = 0; s <= l; ++s) {
    const Matrix& block = network.layers[l].from[s];
    if (block.size() != 0)
      rows.middleCols(at, paired[s]) = block.leftCols(paired[s]) * sizes[s].head(paired[s]).asDiagonal();
    at += paired[s];
  }
  rows.col(columns - 1) = network.layers[l].b;
  return rows;
}

// s that makes sum |r - s q| least: the weighted median of r / q.
double median_scale(const Vector& r, const Vector& q) {
  std::vector<std::pair<double, double>> ratios;  // and their weights
  double total = 0;
  for (Index i = 0; i < r.size(); ++i) {
    if (q(i) == 0) continue;
    ratios.emplace_back(r(i) / q(i), std::abs(q(i)));
    total += std::abs(q(i));
  }
  std::sort(ratios.begin(), ratios.end());
  double sum = 0, s = 0;
  for (const auto& [ratio, weight] : ratios) {
    sum += weight;
    s = ratio;
    if (2 * sum >= total) break;
  }
  if (!(s > 0) || !std::isfinite(s)) s = r.norm() / q.norm();
  if (!(s > 0) || !std::isfinite(s)) return 1;
  const double with = (r - s * q).lpNorm<1>(), without = (r - q).lpNorm<1>();
  return std::abs(s - 1) <= kNearOne && kFarBetter * without <= with + 1e-13 * r.lpNorm<1>() ? 1 : s;
}

// free_scale: up to a positive factor.
double square_distance(const Vector& r, const Vector& q, bool free_scale) {
  const double a = r.norm(), b = q.norm();
  if (a == 0 || b == 0) return 4;
  return free_scale ? (r / a - q / b).squaredNorm()
                    : (r - q).squaredNorm() / (std::max(a, b) * std::max(a, b));
}

// What the activation allows.
struct Freedom {
  bool scale = true;  // rows by a positive factor
  bool turn = false;  // units turned around
  Symmetry symmetry = Symmetry::kHalf;
};

Freedom freedom_of(const Network& f, const Network& g, bool free_signs) {
  const bool linear_terms = free_signs || (f.has_skip_terms() && g.has_skip_terms());
  const ActivationRow* row = find_activation(f.activation);
  if (row == nullptr) return {false, false, Symmetry::kNone};
  if (f.activation != g.activation && row->degree == 1)
    return {true, linear_terms, Symmetry::kHalf};  // as ReLUs
  return {row->degree > 0, row->symmetry == Symmetry::kHalf ? linear_terms : row->symmetry != Symmetry::kNone,
          row->symmetry};
}

void turn_around(BlockNetwork& network, std::size_t l, Index unit, Symmetry symmetry) {
  if (symmetry == Symmetry::kHalf) {
    turn_unit(network, l, unit);
    return;
  }
  BlockLayer& own = network.layers[l];
  for (Matrix& block : own.from)
    if (block.size() != 0) block.row(unit) *= -1;
  own.b(unit) *= -1;
  if (symmetry == Symmetry::kEven) return;
  for (std::size_t u = l + 1; u < network.layers.size(); ++u)
    if (network.layers[u].from[l + 1].size() != 0) network.layers[u].from[l + 1].col(unit) *= -1;
}

// Sigmoids as tanh, so that turning one around moves no constant; slack for the constants that moved.
BlockNetwork blocks_of(const Network& network) {
  if (network.activation != "sigmoid") return to_plain_blocks(network);
  BlockNetwork out = to_blocks(in_tanh_units(network));
  for (std::size_t l = 1; l < out.layers.size(); ++l) {
    BlockLayer& layer = out.layers[l];
    for (const Matrix& block : layer.from) {
      if (block.size() == 0) continue;
      const double roundings = static_cast<double>(block.cols() + 4) * std::numeric_limits<double>::epsilon();
      layer.b_slack += roundings * (block.cwiseAbs().rowwise().sum() + layer.b.cwiseAbs());
    }
  }
  return out;
}

// Folds units of layer l without a partner that are on in the whole domain; drops them from `free`.
std::vector<MatchedUnit> fold_settled(BlockNetwork& network, std::size_t l, std::vector<Index>& partner,
                                      const Vector& low, const Vector& high, bool first) {
  std::vector<MatchedUnit> folded;
  if (std::none_of(partner.begin(), partner.end(), [](Index j) { return j < 0; })) return folded;
  const UnitRanges ranges = unit_ranges(network, low, high);
  for (Index i = network.layers[l].units(); i-- > 0;) {
    if (partner[static_cast<std::size_t>(i)] >= 0 || !(ranges.low[l](i) >= 0)) continue;
    MatchedUnit unit;
    unit.layer = static_cast<Index>(l);
    (first ? unit.first_row : unit.second_row) = network.layers[l].rows[static_cast<std::size_t>(i)];
    folded.push_back(unit);
    fold_unit(network, l, i);
    partner.erase(partner.begin() + i);
  }
  return folded;
}

// Where the matched rows of a layer differ most.
MatchedUnit compare_rows(const Matching& pair, std::size_t l, Index i, const std::vector<Index>& paired,
                         const std::vector<Vector>& sizes) {
  const BlockLayer &p = pair.first.layers[l], &q = pair.second.layers[l];
  MatchedUnit unit;
  unit.layer = static_cast<Index>(l);
  unit.place = i;
  unit.first_row = p.rows[static_cast<std::size_t>(i)];
  unit.second_row = q.rows[static_cast<std::size_t>(i)];
  double worst = std::abs(p.b(i) - q.b(i)), norm = p.b(i) * p.b(i);
  unit.first_weight = p.b(i);
  unit.second_weight = q.b(i);
  for (std::size_t s = 0; s <= l; ++s) {
    for (Index j = 0; j < paired[s]; ++j) {
      const double a = p.from[s].size() != 0 ? p.from[s](i, j) : 0;
      const double b = q.from[s].size() != 0 ? q.from[s](i, j) : 0;
      const double weight = sizes[s](j);
      norm += a * a * weight * weight;
      if (!(std::abs(a - b) * weight > worst)) continue;
      worst = std::abs(a - b) * weight;
      unit.source = static_cast<Index>(s);
      unit.from_place = j;
      unit.first_from = s == 0 ? j : pair.first.layers[s - 1].rows[static_cast<std::size_t>(j)];
      unit.second_from = s == 0 ? j : pair.second.layers[s - 1].rows[static_cast<std::size_t>(j)];
      unit.first_weight = a;
      unit.second_weight = b;
    }
  }
  unit.change = worst == 0 ? 0 : worst / std::max(std::sqrt(norm), kTiny);
  return unit;
}

}  // namespace

Matching match_units(const Network& f, const Network& g, const Vector& low, const Vector& high,
                     bool free_signs, std::uint64_t seed) {
  Matching out;
  BlockNetwork &F = out.first, &G = out.second;
  F = blocks_of(f);
  G = blocks_of(g);
  out.same_units = F.sigma.has_value() == G.sigma.has_value() && (!F.sigma || F.sigma->name == G.sigma->name);
  if (!out.same_units) {
    for (BlockNetwork* network : {&F, &G}) rectify(*network);
    if (F.sigma || G.sigma) return out;
    out.same_units = true;  // ReLUs and linear terms
  }
  const Vector radius = low.cwiseAbs().cwiseMax(high.cwiseAbs());
  for (BlockNetwork* network : {&F, &G}) {
    drop_idle_units(*network);
    join_twins(*network, radius);
  }
  out.same_depth = F.depth() == G.depth();
  const std::size_t depth = std::max(F.depth(), G.depth());
  pad_layers(F, depth);
  pad_layers(G, depth);
  const Freedom free = freedom_of(f, g, free_signs);
  RowMatrix x(kPoints, low.size());
  Stream(seed, "match units").fill_uniform(0, x);
  for (Index i = 0; i < x.cols(); ++i) x.col(i) = low(i) + (high(i) - low(i)) * x.col(i).array();
  std::vector<Index> paired = {F.inputs};
  out.complete = true;
  std::vector<std::vector<double>> scales(depth);
  for (std::size_t l = 0; l < depth; ++l) {
    const std::vector<Vector> sizes = feature_sizes(F, x);
    const RowMatrix R = weighted_rows(F, l, paired, sizes), Q = weighted_rows(G, l, paired, sizes);
    const Index n = std::max(R.rows(), Q.rows());
    Matrix cost = Matrix::Constant(n, n, kFar * kFar);
    Eigen::Matrix<bool, Eigen::Dynamic, Eigen::Dynamic> turned(n, n);
    turned.setConstant(false);
    for (Index i = 0; i < R.rows(); ++i) {
      for (Index j = 0; j < Q.rows(); ++j) {
        cost(i, j) = square_distance(R.row(i), Q.row(j), free.scale);
        if (!free.turn) continue;
        const double other = square_distance(R.row(i), -Q.row(j), free.scale);
        if (other >= cost(i, j)) continue;
        cost(i, j) = other;
        turned(i, j) = true;
      }
    }
    const std::vector<Index> assigned = n > 0 ? optimal_assignment(cost) : std::vector<Index>();
    std::vector<Index> of_first(static_cast<std::size_t>(R.rows()), -1),
        of_second(static_cast<std::size_t>(Q.rows()), -1);
    std::vector<double> scale(of_first.size(), 1);
    for (Index i = 0; i < R.rows(); ++i) {
      const Index j = assigned[static_cast<std::size_t>(i)];
      if (j >= Q.rows() || cost(i, j) > kFar * kFar) continue;
      of_first[static_cast<std::size_t>(i)] = j;
      of_second[static_cast<std::size_t>(j)] = i;
      const Vector q = turned(i, j) ? Vector(-Q.row(j)) : Vector(Q.row(j));
      if (turned(i, j)) turn_around(G, l, j, free.symmetry);
      if (!free.scale) continue;
      const double s = median_scale(R.row(i), q);
      scale[static_cast<std::size_t>(i)] = s;
      scale_unit(G, l, j, s);
    }
    // Partners by name: folding changes the numbers.
    std::vector<Index> name_first(of_first.size()), name_second(of_second.size(), -1);
    Index names = 0;
    for (std::size_t i = 0; i < of_first.size(); ++i) {
      name_first[i] = of_first[i] < 0 ? -1 : names++;
      if (of_first[i] >= 0) name_second[static_cast<std::size_t>(of_first[i])] = name_first[i];
    }
    if (F.piecewise_linear()) {
      for (MatchedUnit& unit : fold_settled(F, l, name_first, low, high, true))
        out.folded_first.push_back(unit);
      for (MatchedUnit& unit : fold_settled(G, l, name_second, low, high, false))
        out.folded_second.push_back(unit);
    }
    std::vector<Index> order_first(static_cast<std::size_t>(names)), order_second(order_first.size());
    for (std::size_t i = 0; i < name_first.size(); ++i)
      if (name_first[i] >= 0) order_first[static_cast<std::size_t>(name_first[i])] = static_cast<Index>(i);
    for (std::size_t j = 0; j < name_second.size(); ++j)
      if (name_second[j] >= 0) order_second[static_cast<std::size_t>(name_second[j])] = static_cast<Index>(j);
    for (std::size_t i = 0; i < name_first.size(); ++i) {
      if (name_first[i] >= 0) continue;
      order_first.push_back(static_cast<Index>(i));
      order_second.push_back(-1);
    }
    for (std::size_t j = 0; j < name_second.size(); ++j) {
      if (name_second[j] >= 0) continue;
      order_first.push_back(-1);
      order_second.push_back(static_cast<Index>(j));
    }
    for (std::size_t i = 0; i < of_first.size(); ++i)
      if (of_first[i] >= 0) scales[l].push_back(scale[i]);
    take_units(F, l, order_first);
    take_units(G, l, order_second);
    paired.push_back(names);
    out.complete = out.complete && static_cast<std::size_t>(names) == order_first.size();
  }
  const std::vector<Vector> sizes = feature_sizes(F, x);
  paired.push_back(F.outputs());
  for (std::size_t l = 0; l <= depth; ++l) {
    const Index all = F.layers[l].units();
    for (Index i = 0; i < all; ++i) {
      MatchedUnit unit;
      if (i < paired[l + 1]) {
        unit = compare_rows(out, l, i, paired, sizes);
        if (l < depth) unit.scale = scales[l][static_cast<std::size_t>(i)];
        out.worst_change = std::max(out.worst_change, unit.change);
      } else {
        unit.layer = static_cast<Index>(l);
        unit.first_row = F.layers[l].rows[static_cast<std::size_t>(i)];
        unit.second_row = G.layers[l].rows[static_cast<std::size_t>(i)];
      }
      out.units.push_back(unit);
    }
  }
  for (BlockNetwork* network : {&F, &G}) rectify(*network);
  return out;
}

}  // namespace exhume
