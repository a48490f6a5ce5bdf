#include "compare/blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/activation_table.h"

namespace exhume {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();  // 2^-52: above any rounding of one operation
// Two rows are twins where they agree, after scaling, to a few roundings of their entries.
constexpr double kTwin = 16 * kUlp;

Matrix slack_of(const BlockLayer& layer, std::size_t source) {
  return layer.slack[source].size() != 0
             ? layer.slack[source]
             : Matrix(Matrix::Zero(layer.from[source].rows(), layer.from[source].cols()));
}

void ensure_slack(BlockLayer& layer, std::size_t source) { layer.slack[source] = slack_of(layer, source); }

void ensure_block(BlockNetwork& network, std::size_t layer, std::size_t source) {
  Matrix& block = network.layers[layer].from[source];
  if (block.size() == 0) block = Matrix::Zero(network.layers[layer].units(), network.units(source));
}

// What stands on unit `unit` of hidden layer l reads instead, times its weight, the row of the unit.
void read_below(BlockNetwork& network, std::size_t l, Index unit) {
  const BlockLayer own = network.layers[l];
  for (std::size_t u = l + 1; u < network.layers.size(); ++u) {
    BlockLayer& above = network.layers[u];
    if (above.from[l + 1].size() == 0) continue;
    const Vector a = above.from[l + 1].col(unit);
    if (a.isZero(0)) continue;
    const Vector a_slack = slack_of(above, l + 1).col(unit);
    const Vector most = a.cwiseAbs() + a_slack;
    for (std::size_t s = 0; s <= l; ++s) {
      if (own.from[s].size() == 0) continue;
      ensure_block(network, u, s);
      ensure_slack(above, s);
      const Matrix product = a * own.from[s].row(unit);
      above.from[s] += product;
      above.slack[s] += 2 * kUlp * (product.cwiseAbs() + above.from[s].cwiseAbs());
      above.slack[s] += a_slack * own.from[s].row(unit).cwiseAbs() + most * slack_of(own, s).row(unit);
      above.slack[s] *= 1 + 8 * kUlp;
    }
    const Vector product = a * own.b(unit);
    above.b += product;
    above.b_slack += 2 * kUlp * (product.cwiseAbs() + above.b.cwiseAbs());
    above.b_slack += a_slack * std::abs(own.b(unit)) + most * own.b_slack(unit);
    above.b_slack *= 1 + 8 * kUlp;
  }
}

// p where the activation is p z below zero and z above: leaky ReLU, |z| (up to a sign) and z itself.
std::optional<double> slope_below_zero(const std::string& activation) {
  const ActivationRow* row = find_activation(activation);
  if (row == nullptr || row->smooth || row->degree != 1) return std::nullopt;
  const double p = activation_parameter(activation);
  return -row->value(-1, p);
}

// The unit's function is p z + (1 - p) max(z, 0): what stands on it reads p z from below.
void add_linear_part(BlockNetwork& network, std::size_t l, Index unit, double p) {
  std::vector<Vector> on(network.layers.size());
  for (std::size_t u = l + 1; u < network.layers.size(); ++u) {
    BlockLayer& above = network.layers[u];
    if (above.from[l + 1].size() == 0) continue;
    ensure_slack(above, l + 1);
    on[u] = above.from[l + 1].col(unit);
    above.from[l + 1].col(unit) *= p;
    above.slack[l + 1].col(unit) =
        above.slack[l + 1].col(unit) * std::abs(p) + kUlp * (std::abs(p) * on[u].cwiseAbs());
  }
  read_below(network, l, unit);
  for (std::size_t u = l + 1; u < network.layers.size(); ++u) {
    BlockLayer& above = network.layers[u];
    if (above.from[l + 1].size() == 0) continue;
    above.from[l + 1].col(unit) = (1 - p) * on[u];
    above.slack[l + 1].col(unit) = 2 * kUlp * (1 + std::abs(p)) * on[u].cwiseAbs();
  }
}

// What stands on the unit has its constant value instead.
void add_constant(BlockNetwork& network, std::size_t l, Index unit, double value) {
  for (std::size_t u = l + 1; u < network.layers.size(); ++u) {
    BlockLayer& above = network.layers[u];
    if (above.from[l + 1].size() == 0) continue;
    const Vector product = above.from[l + 1].col(unit) * value;
    above.b += product;
    above.b_slack += 8 * kUlp * (product.cwiseAbs() + above.b.cwiseAbs()) +
                     std::abs(value) * slack_of(above, l + 1).col(unit);
  }
}

void keep_columns(Matrix& block, const std::vector<Index>& order) {
  if (block.size() == 0) return;
  Matrix kept = Matrix::Zero(block.rows(), static_cast<Index>(order.size()));
  for (std::size_t j = 0; j < order.size(); ++j)
    if (order[j] >= 0) kept.col(static_cast<Index>(j)) = block.col(order[j]);
  block = std::move(kept);
}

void keep_rows(Matrix& block, const std::vector<Index>& order) {
  if (block.size() == 0) return;
  Matrix kept = Matrix::Zero(static_cast<Index>(order.size()), block.cols());
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] >= 0) kept.row(static_cast<Index>(i)) = block.row(order[i]);
  block = std::move(kept);
}

std::vector<Index> all_but(Index units, Index left_out) {
  std::vector<Index> order;
  for (Index i = 0; i < units; ++i)
    if (i != left_out) order.push_back(i);
  return order;
}

// The row of a unit over all sources, its bias last.
Vector whole_row(const BlockNetwork& network, std::size_t l, Index unit) {
  Index size = 1;
  for (std::size_t s = 0; s <= l; ++s) size += network.units(s);
  Vector row = Vector::Zero(size);
  Index at = 0;
  for (std::size_t s = 0; s <= l; ++s) {
    const Matrix& block = network.layers[l].from[s];
    if (block.size() != 0) row.segment(at, block.cols()) = block.row(unit);
    at += network.units(s);
  }
  row(size - 1) = network.layers[l].b(unit);
  return row;
}

// Bounds of |h_s| over the domain for all sources below layer l, by intervals.
std::vector<Vector> feature_radius(const BlockNetwork& network, std::size_t l, const Vector& radius) {
  std::vector<Vector> of = {radius};
  for (std::size_t u = 0; u < l; ++u) {
    const BlockLayer& layer = network.layers[u];
    Vector most = layer.b.cwiseAbs() + layer.b_slack;
    for (std::size_t s = 0; s <= u; ++s)
      if (layer.from[s].size() != 0) most += (layer.from[s].cwiseAbs() + slack_of(layer, s)) * of[s];
    of.emplace_back(1.01 * most);
  }
  return of;
}

Vector joined(const std::vector<Vector>& parts) {
  Vector all(0);
  for (const Vector& part : parts) {
    all.conservativeResize(all.size() + part.size());
    all.tail(part.size()) = part;
  }
  return all;
}

// How far z of a unit may be off over the domain, by the slack of its row.
double slack_radius(const BlockLayer& layer, Index unit, const std::vector<Vector>& radii) {
  double most = layer.b_slack(unit);
  for (std::size_t s = 0; s < layer.slack.size(); ++s)
    if (layer.slack[s].size() != 0) most += layer.slack[s].row(unit).dot(radii[s]);
  return most;
}

}  // namespace

BlockNetwork to_plain_blocks(const Network& network) {
  BlockNetwork out;
  out.inputs = network.inputs();
  std::vector<Index> size = {out.inputs};
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    BlockLayer to;
    to.from.resize(l + 1);
    to.slack.resize(l + 1);
    to.from[l] = layer.W;
    to.b = layer.b;
    to.b_slack = Vector::Zero(layer.b.size());
    if (layer.L.size() != 0) {
      Index at = 0;
      for (std::size_t s = 0; s < l; ++s) {
        const Matrix block = layer.L.middleCols(at, size[s]);
        if (!block.isZero(0)) to.from[s] = block;
        at += size[s];
      }
    }
    to.rows.resize(static_cast<std::size_t>(layer.b.size()));
    std::iota(to.rows.begin(), to.rows.end(), Index{0});
    size.push_back(layer.b.size());
    out.layers.push_back(std::move(to));
  }
  if (network.activation != "relu") out.sigma = parse_rectifier(network.activation);
  return out;
}

void rectify(BlockNetwork& network) {
  if (!network.sigma) return;
  const std::optional<double> p = slope_below_zero(network.sigma->name);
  if (!p) return;
  for (std::size_t l = 0; l < network.depth(); ++l) {
    for (Index i = 0; i < network.layers[l].units(); ++i) add_linear_part(network, l, i, *p);
  }
  network.sigma.reset();
}

BlockNetwork to_blocks(const Network& network) {
  BlockNetwork out = to_plain_blocks(network);
  rectify(out);
  return out;
}

std::vector<RowMatrix> features(const BlockNetwork& network, const Eigen::Ref<const RowMatrix>& x) {
  std::vector<RowMatrix> h = {x};
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const BlockLayer& layer = network.layers[l];
    RowMatrix z = layer.b.transpose().replicate(x.rows(), 1);
    for (std::size_t s = 0; s <= l; ++s)
      if (layer.from[s].size() != 0) z.noalias() += h[s] * layer.from[s].transpose();
    if (l + 1 < network.layers.size()) {
      if (network.piecewise_linear()) {
        z = z.cwiseMax(0.0).eval();
      } else {
        z = z.unaryExpr([&](double v) { return (*network.sigma)(v); }).eval();
      }
    }
    h.push_back(std::move(z));
  }
  return h;
}

RowMatrix slopes(const BlockNetwork& network, const std::vector<RowMatrix>& features, std::size_t layer) {
  if (network.piecewise_linear()) {
    return (features[layer + 1].array() > 0)
        .select(RowMatrix::Ones(features[0].rows(), features[layer + 1].cols()), 0.0);
  }
  const BlockLayer& own = network.layers[layer];
  RowMatrix z = own.b.transpose().replicate(features[0].rows(), 1);
  for (std::size_t s = 0; s <= layer; ++s)
    if (own.from[s].size() != 0) z.noalias() += features[s] * own.from[s].transpose();
  const Rectifier& sigma = *network.sigma;
  return z.unaryExpr([&](double v) { return sigma.everywhere || v > 0 ? sigma.slope(v) : 0.0; });
}

Vector slopes(const BlockNetwork& network, const std::vector<RowMatrix>& features, Index row,
              std::size_t layer) {
  std::vector<RowMatrix> here;
  for (std::size_t s = 0; s < layer + 2; ++s) here.emplace_back(features[s].row(row));
  return slopes(network, here, layer).row(0);
}

RowMatrix evaluate(const BlockNetwork& network, const Eigen::Ref<const RowMatrix>& x) {
  return features(network, x).back();
}

Vector gradient(const BlockNetwork& network, const std::vector<RowMatrix>& features, Index row,
                std::size_t layer, const Vector& c) {
  std::vector<Vector> pull(layer + 1);  // d / d h_s
  for (std::size_t s = 0; s <= layer; ++s) pull[s] = Vector::Zero(network.units(s));
  Vector down = c;
  for (std::size_t l = layer + 1; l-- > 0;) {
    for (std::size_t s = 0; s <= l; ++s) {
      const Matrix& block = network.layers[l].from[s];
      if (block.size() != 0) pull[s].noalias() += block.transpose() * down;
    }
    if (l == 0) break;
    if (network.piecewise_linear()) {
      down = (features[l].row(row).transpose().array() > 0).select(pull[l], 0.0);
    } else {
      down = slopes(network, features, row, l - 1).cwiseProduct(pull[l]);
    }
  }
  return pull[0];
}

void scale_unit(BlockNetwork& network, std::size_t l, Index unit, double s) {
  if (s == 1) return;
  const int exponent = std::ilogb(s);
  const bool exact = std::ldexp(1.0, exponent) == s;  // a power of two moves no digit
  BlockLayer& own = network.layers[l];
  for (std::size_t source = 0; source <= l; ++source) {
    if (own.from[source].size() == 0) continue;
    own.from[source].row(unit) *= s;
    if (exact && own.slack[source].size() == 0) continue;
    ensure_slack(own, source);
    own.slack[source].row(unit) *= s * (1 + 4 * kUlp);
    if (!exact) own.slack[source].row(unit) += kUlp * own.from[source].row(unit).cwiseAbs();
  }
  own.b(unit) *= s;
  own.b_slack(unit) *= s * (1 + 4 * kUlp);
  if (!exact) own.b_slack(unit) += kUlp * std::abs(own.b(unit));
  for (std::size_t u = l + 1; u < network.layers.size(); ++u) {
    BlockLayer& above = network.layers[u];
    if (above.from[l + 1].size() == 0) continue;
    above.from[l + 1].col(unit) /= s;
    if (exact && above.slack[l + 1].size() == 0) continue;
    ensure_slack(above, l + 1);
    above.slack[l + 1].col(unit) *= (1 + 4 * kUlp) / s;
    if (!exact) above.slack[l + 1].col(unit) += kUlp * above.from[l + 1].col(unit).cwiseAbs();
  }
}

void turn_unit(BlockNetwork& network, std::size_t l, Index unit) {
  read_below(network, l, unit);
  BlockLayer& own = network.layers[l];
  for (std::size_t s = 0; s <= l; ++s)
    if (own.from[s].size() != 0) own.from[s].row(unit) *= -1;
  own.b(unit) *= -1;
}

void fold_unit(BlockNetwork& network, std::size_t l, Index unit) {
  read_below(network, l, unit);
  take_units(network, l, all_but(network.layers[l].units(), unit));
}

void take_units(BlockNetwork& network, std::size_t l, const std::vector<Index>& order) {
  BlockLayer& own = network.layers[l];
  for (Matrix& block : own.from) keep_rows(block, order);
  for (Matrix& block : own.slack) keep_rows(block, order);
  Vector b = Vector::Zero(static_cast<Index>(order.size())), slack = b;
  std::vector<Index> rows(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0) continue;
    b(static_cast<Index>(i)) = own.b(order[i]);
    slack(static_cast<Index>(i)) = own.b_slack(order[i]);
    rows[i] = own.rows[static_cast<std::size_t>(order[i])];
  }
  own.b = std::move(b);
  own.b_slack = std::move(slack);
  own.rows = std::move(rows);
  for (std::size_t u = l + 1; u < network.layers.size(); ++u) {
    keep_columns(network.layers[u].from[l + 1], order);
    keep_columns(network.layers[u].slack[l + 1], order);
  }
}

void drop_idle_units(BlockNetwork& network) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t l = 0; l < network.depth(); ++l) {
      std::vector<Index> kept;
      for (Index i = 0; i < network.layers[l].units(); ++i) {
        bool read = false;
        for (std::size_t u = l + 1; u < network.layers.size(); ++u) {
          const Matrix& block = network.layers[u].from[l + 1];
          read = read || (block.size() != 0 && !block.col(i).isZero(0));
        }
        if (!read) continue;
        Vector row = whole_row(network, l, i);
        const double b = row(row.size() - 1);
        if (row.head(row.size() - 1).isZero(0)) {
          if (network.sigma) {
            add_constant(network, l, i, (*network.sigma)(b));
          } else if (b > 0) {
            read_below(network, l, i);  // max(b, 0) = b
          }
          continue;
        }
        kept.push_back(i);
      }
      if (static_cast<Index>(kept.size()) == network.layers[l].units()) continue;
      take_units(network, l, kept);
      changed = true;
    }
  }
}

void join_twins(BlockNetwork& network, const Vector& radius) {
  for (std::size_t l = 0; l < network.depth(); ++l) {
    const std::vector<Vector> radii = feature_radius(network, l, radius);
    const Vector most = joined(radii);
    std::vector<Vector> rows;
    for (Index i = 0; i < network.layers[l].units(); ++i) rows.push_back(whole_row(network, l, i));
    std::vector<Index> kept;
    for (Index i = 0; i < network.layers[l].units(); ++i) {
      const Vector& row = rows[static_cast<std::size_t>(i)];
      Index twin = -1;
      double s = 1;
      for (const Index j : kept) {
        const Vector& other = rows[static_cast<std::size_t>(j)];
        if (network.sigma && row != other) continue;
        s = network.sigma ? 1 : row.norm() / other.norm();
        if (!((row - s * other).cwiseAbs().maxCoeff() <= kTwin * row.cwiseAbs().maxCoeff())) continue;
        twin = j;
        break;
      }
      if (twin < 0) {
        kept.push_back(i);
        continue;
      }
      // a_i max(r_i, 0) = a_i s max(r_j, 0) + a_i e,  |e| <= |r_i - s r_j| over the domain.
      const Vector gap = (row - s * rows[static_cast<std::size_t>(twin)]).cwiseAbs() + kUlp * row.cwiseAbs();
      const double apart = 1.01 * (gap.head(most.size()).dot(most) + gap(gap.size() - 1) +
                                   slack_radius(network.layers[l], i, radii) +
                                   s * slack_radius(network.layers[l], twin, radii));
      for (std::size_t u = l + 1; u < network.layers.size(); ++u) {
        BlockLayer& above = network.layers[u];
        if (above.from[l + 1].size() == 0) continue;
        ensure_slack(above, l + 1);
        const Vector a = above.from[l + 1].col(i);
        above.from[l + 1].col(twin) += s * a;
        above.slack[l + 1].col(twin) +=
            2 * kUlp * (s * a.cwiseAbs() + above.from[l + 1].col(twin).cwiseAbs()) +
            s * above.slack[l + 1].col(i) * (1 + 4 * kUlp);
        above.b_slack += apart * (a.cwiseAbs() + above.slack[l + 1].col(i)) * (1 + 4 * kUlp);
      }
    }
    if (static_cast<Index>(kept.size()) < network.layers[l].units()) take_units(network, l, kept);
  }
}

void pad_layers(BlockNetwork& network, std::size_t depth) {
  while (network.depth() < depth) {
    BlockLayer outputs = std::move(network.layers.back());
    network.layers.pop_back();
    BlockLayer empty;
    empty.from.resize(network.layers.size() + 1);
    empty.slack.resize(network.layers.size() + 1);
    empty.b = empty.b_slack = Vector(0);
    network.layers.push_back(std::move(empty));
    outputs.from.emplace_back();
    outputs.slack.emplace_back();
    network.layers.push_back(std::move(outputs));
  }
}

}  // namespace exhume
