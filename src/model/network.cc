#include "exhume/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "model/activation_table.h"

namespace exhume {
namespace {

using Order = std::vector<Index>;

Index at(std::size_t l) { return static_cast<Index>(l); }

// Columns of layers[l].L before those of hidden layer j (from 0), j + 1 < l.
Index skip_column(const Network& network, std::size_t j) {
  Index column = network.inputs();
  for (std::size_t i = 0; i < j; ++i) column += network.layers[i].W.rows();
  return column;
}

Index skip_columns(const Network& network, std::size_t l) { return l == 0 ? 0 : skip_column(network, l - 1); }

Matrix skip_term(const Network& network, std::size_t l) {
  const Layer& layer = network.layers[l];
  return layer.L.size() != 0 ? layer.L : Matrix::Zero(layer.W.rows(), skip_columns(network, l));
}

// What stands on the units of hidden layer l: W of the next layer, then the skip terms above, one below the
// other.
Matrix standing_on(const Network& network, std::size_t l) {
  const Index k = network.layers[l].W.rows();
  Matrix all(0, k);
  const auto append = [&](const auto& block) {
    all.conservativeResize(all.rows() + block.rows(), k);
    all.bottomRows(block.rows()) = block;
  };
  append(network.layers[l + 1].W);
  for (std::size_t u = l + 2; u < network.layers.size(); ++u) {
    if (network.layers[u].L.size() != 0) append(network.layers[u].L.middleCols(skip_column(network, l), k));
  }
  return all;
}

// The units `order` of hidden layer l, in that order, and nothing else of it.
Network only(const Network& network, std::size_t l, const Order& order) {
  Network out = network;
  Layer& layer = out.layers[l];
  layer.W = network.layers[l].W(order, Eigen::all);
  layer.b = network.layers[l].b(order);
  if (layer.L.size() != 0) layer.L = network.layers[l].L(order, Eigen::all);
  out.layers[l + 1].W = network.layers[l + 1].W(Eigen::all, order);
  const Index first = skip_column(network, l), k = network.layers[l].W.rows(), kept = at(order.size());
  for (std::size_t u = l + 2; u < network.layers.size(); ++u) {
    const Matrix& from = network.layers[u].L;
    if (from.size() == 0) continue;
    Matrix to(from.rows(), from.cols() - k + kept);
    to << from.leftCols(first), from.middleCols(first, k)(Eigen::all, order),
        from.rightCols(from.cols() - first - k);
    out.layers[u].L = std::move(to);
  }
  return out;
}

// The size of every unit's row: of w, which turning lower units leaves alone, or of l where w is zero.
Vector row_norms(const Layer& layer) {
  Vector size = layer.W.rowwise().norm();
  for (Index i = 0; i < size.size(); ++i)
    if (size(i) == 0 && layer.L.size() != 0) size(i) = layer.L.row(i).norm();
  return size;
}

// What stands on unit i of hidden layer l, times s.
void scale_above(Network& network, std::size_t l, Index i, double s) {
  network.layers[l + 1].W.col(i) *= s;
  const Index column = skip_column(network, l) + i;
  for (std::size_t u = l + 2; u < network.layers.size(); ++u)
    if (network.layers[u].L.size() != 0) network.layers[u].L.col(column) *= s;
}

// Drops idle units of hidden layer l; true where there were any.
bool drop_idle(Network& network, std::size_t l) {
  const Vector strength = standing_on(network, l).colwise().norm(), size = row_norms(network.layers[l]);
  Order kept;
  for (Index i = 0; i < size.size(); ++i) {
    if (strength(i) > 0 && size(i) > 0) {
      kept.push_back(i);
    } else if (strength(i) > 0) {
      const double constant = std::max(network.layers[l].b(i), 0.0);
      network.layers[l + 1].b += constant * network.layers[l + 1].W.col(i);
      for (std::size_t u = l + 2; u < network.layers.size(); ++u) {
        if (network.layers[u].L.size() != 0)
          network.layers[u].b += constant * network.layers[u].L.col(skip_column(network, l) + i);
      }
    }
  }
  if (at(kept.size()) == size.size()) return false;
  network = only(network, l, kept);
  return true;
}

// Rows (w, b, l) of a layer.
Matrix rows_of(const Network& network, std::size_t l, bool with_skip) {
  const Layer& layer = network.layers[l];
  Matrix rows(layer.W.rows(), layer.W.cols() + 1 + (with_skip ? skip_columns(network, l) : 0));
  rows.leftCols(layer.W.cols()) = layer.W;
  rows.col(layer.W.cols()) = layer.b;
  if (with_skip) rows.rightCols(skip_columns(network, l)) = skip_term(network, l);
  return rows;
}

Matrix square_distances(const Matrix& p, const Matrix& q) {
  Matrix cost(p.rows(), q.rows());
  for (Index i = 0; i < p.rows(); ++i)
    for (Index j = 0; j < q.rows(); ++j) cost(i, j) = (p.row(i) - q.row(j)).squaredNorm();
  return cost;
}

// A little of how much the sizes of the weights on the units of layer l differ: tells twins apart.
Matrix size_differences(const Network& p, const Network& q, std::size_t l) {
  constexpr double kTie = 1e-12;
  const Vector up = standing_on(p, l).colwise().norm(), down = standing_on(q, l).colwise().norm();
  Matrix out(up.size(), down.size());
  for (Index i = 0; i < out.rows(); ++i)
    for (Index j = 0; j < out.cols(); ++j) out(i, j) = kTie * std::pow(up(i) - down(j), 2);
  return out;
}

}  // namespace

Network::Network(Matrix W, Vector b, Matrix A, Vector c, Matrix L) {
  layers.push_back({std::move(W), std::move(b), Matrix()});
  layers.push_back({std::move(A), std::move(c), std::move(L)});
}

const std::vector<Layer>& Network::one_hidden_layer() const {
  static const std::vector<Layer> kNoUnits(2);
  if (layers.empty()) return kNoUnits;
  if (layers.size() != 2)
    throw std::logic_error(fmt::format("network: it has {} hidden layers, expected one", depth()));
  return layers;
}

std::vector<Layer>& Network::one_hidden_layer() {
  if (layers.empty()) layers.resize(2);
  (void)std::as_const(*this).one_hidden_layer();
  return layers;
}

Index Network::hidden() const {
  Index units = 0;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) units += layers[l].W.rows();
  return units;
}

std::vector<Index> Network::widths() const {
  std::vector<Index> out;
  out.reserve(layers.size());
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) out.push_back(layers[l].W.rows());
  return out;
}

bool Network::has_skip_terms() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.L.size() != 0; });
}

Index Network::parameters() const {
  Index count = 0;
  for (const Layer& layer : layers) count += layer.W.size() + layer.b.size() + layer.L.size();
  return count;
}

void Network::validate() const {
  if (layers.empty()) throw std::invalid_argument("network: it has no layers");
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    // As messages and files call the arrays of this layer (io/tensors.h).
    const bool last = l + 1 == layers.size();
    const std::string prefix = last || layers.size() == 2 ? "" : fmt::format("layers.{}.", l);
    const std::string W = prefix + (last ? "A" : "W"), b = prefix + (last ? "c" : "b");
    const auto require = [](const char* what, const std::string& name, Index have, Index want) {
      if (have == want) return;
      throw std::invalid_argument(fmt::format("network: {} {} is {}, expected {}", what, name, have, want));
    };
    if (l > 0) require("the number of columns of", W, layer.W.cols(), layers[l - 1].W.rows());
    require("the size of", b, layer.b.size(), layer.W.rows());
    if (layer.L.size() != 0) {
      require("the number of rows of", prefix + "L", layer.L.rows(), layer.W.rows());
      require("the number of columns of", prefix + "L", layer.L.cols(), skip_columns(*this, l));
    }
    if (!layer.W.allFinite() || !layer.b.allFinite() || !layer.L.allFinite()) {
      throw std::invalid_argument(
          fmt::format("network: a weight of {}, {} or {}L is not a finite number", W, b, prefix));
    }
  }
}

RowMatrix evaluate(const Network& network, const Eigen::Ref<const RowMatrix>& x) {
  if (x.cols() != network.inputs()) {
    throw std::invalid_argument(
        fmt::format("network: the number of input columns is {}, expected {}", x.cols(), network.inputs()));
  }
  const bool skips = network.has_skip_terms(), relu = network.activation == "relu";
  const Rectifier unit = relu ? Rectifier() : parse_rectifier(network.activation);
  RowMatrix below, lower(x.rows(), 0);  // h_{l-1}; and (x, h_1, ..., h_{l-2}) where skip terms need it
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    RowMatrix z = RowMatrix::Zero(x.rows(), layer.W.rows());
    if (layer.W.size() != 0) {  // BLAS complains of empty products
      if (l == 0) {
        z = x * layer.W.transpose();
      } else {
        z = below * layer.W.transpose();
      }
    }
    if (layer.L.size() != 0) z += lower * layer.L.transpose();
    z.rowwise() += layer.b.transpose();
    if (l + 1 == network.layers.size()) return z;
    if (skips) {
      const Index more = l == 0 ? x.cols() : below.cols();
      lower.conservativeResize(Eigen::NoChange, lower.cols() + more);
      if (l == 0) {
        lower.rightCols(more) = x;
      } else {
        lower.rightCols(more) = below;
      }
    }
    if (relu) {
      below = z.cwiseMax(0.0);
    } else {
      below = z.unaryExpr([&](double value) { return unit(value); });
    }
  }
  return below;
}

Network canonical(const Network& network) {
  network.validate();
  if (network.activation != "relu") return canonical_units(network);
  Network out = network;
  const auto depth = static_cast<std::size_t>(out.depth());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t l = 0; l < depth; ++l) changed = drop_idle(out, l) || changed;
  }
  for (std::size_t l = 0; l < depth; ++l) {
    const Vector size = row_norms(out.layers[l]);
    for (Index i = 0; i < size.size(); ++i) {
      Layer& layer = out.layers[l];
      layer.W.row(i) /= size(i);
      layer.b(i) /= size(i);
      if (layer.L.size() != 0) layer.L.row(i) /= size(i);
      scale_above(out, l, i, size(i));
    }
  }
  for (std::size_t l = 0; l < depth; ++l) {
    const Vector strength = standing_on(out, l).colwise().norm();
    const Matrix rows = rows_of(out, l, true);
    Order order(static_cast<std::size_t>(strength.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(), [&](Index i, Index j) {
      if (strength(i) != strength(j)) return strength(i) > strength(j);
      for (Index a = 0; a < rows.cols(); ++a)
        if (rows(i, a) != rows(j, a)) return rows(i, a) > rows(j, a);
      return false;
    });
    out = only(out, l, order);
  }
  return out;
}

double unit_distance(const Vector& u, const Vector& v, bool sign_open) {
  const Vector a = u.normalized(), b = v.normalized();
  const double apart = (a - b).norm();
  return sign_open ? std::min(apart, (a + b).norm()) : apart;
}

Network with_units_turned(const Network& network, Index layer, const std::vector<Index>& units) {
  // a max(z, 0) = a max(-z, 0) + a z
  Network out = network;
  const auto l = static_cast<std::size_t>(layer);
  for (Index i : units) {
    const Vector w = out.layers[l].W.row(i).transpose();
    const Vector s = skip_term(out, l).row(i).transpose();
    for (std::size_t u = l + 1; u < out.layers.size(); ++u) {
      Layer& above = out.layers[u];
      if (u > l + 1 && above.L.size() == 0) continue;
      const Vector a = u == l + 1 ? Vector(above.W.col(i)) : Vector(above.L.col(skip_column(out, l) + i));
      Matrix L = skip_term(out, u);
      L.leftCols(s.size()) += a * s.transpose();
      L.middleCols(s.size(), w.size()) += a * w.transpose();
      above.b += a * out.layers[l].b(i);
      above.L = std::move(L);
    }
    Layer& turned = out.layers[l];
    turned.W.row(i) *= -1;
    turned.b(i) *= -1;
    if (turned.L.size() != 0) turned.L.row(i) *= -1;
  }
  return out;
}

Alignment align(const Network& first, const Network& second, const AlignOptions& options) {
  const bool unlike = first.activation != second.activation;
  Network p = canonical(unlike ? in_tanh_units(first) : first);
  const Network q = canonical(unlike ? in_tanh_units(second) : second);
  Alignment result;
  if (p.inputs() != q.inputs() || p.outputs() != q.outputs() || p.widths() != q.widths() ||
      p.activation != q.activation) {
    result.worst_error = result.rms_error = std::numeric_limits<double>::infinity();
    return result;
  }
  result.comparable = true;
  // Units that are odd or even are the same either way; where two output weights are nearly as large, the
  // canonical form may have turned one of them.
  const bool relu = p.activation == "relu";
  const ActivationRow* units = relu ? nullptr : find_activation(p.activation);
  const Symmetry symmetry = units == nullptr ? Symmetry::kNone : units->symmetry;
  const bool may_turn = relu ? options.free_signs : symmetry == Symmetry::kOdd || symmetry == Symmetry::kEven;
  const bool skips = p.has_skip_terms() || q.has_skip_terms();
  const auto depth = static_cast<std::size_t>(p.depth());
  std::vector<Order> place;  // place[l][j]: which unit of the first is unit j of the second
  for (std::size_t l = 0; l < depth; ++l) {
    const Matrix other = rows_of(q, l, skips), own = rows_of(p, l, skips);
    Matrix cost = square_distances(own, other);
    Matrix turned_cost = may_turn ? square_distances(-own, other) : Matrix();
    const auto above = [&](double sign) {
      return l + 1 == depth
                 ? square_distances(sign * p.layers.back().W.transpose(), q.layers.back().W.transpose())
                 : size_differences(p, q, l);
    };
    cost += above(1);
    if (may_turn) turned_cost += above(symmetry == Symmetry::kOdd ? -1 : 1);
    const Order match = optimal_assignment(may_turn ? Matrix(cost.cwiseMin(turned_cost)) : cost);
    Order turn, order(match.size());
    std::vector<bool> turned(match.size(), false);
    for (std::size_t i = 0; i < match.size(); ++i) {
      order[static_cast<std::size_t>(match[i])] = at(i);
      if (!may_turn || turned_cost(at(i), match[i]) >= cost(at(i), match[i])) continue;
      turned[i] = true;
      turn.push_back(at(i));
    }
    p = only(relu ? with_units_turned(p, at(l), turn) : with_units_mirrored(p, l, turn), l, order);
    result.match.push_back(match);
    result.turned.push_back(std::move(turned));
    place.push_back(std::move(order));
  }
  double sum = 0;
  Index count = 0;
  for (std::size_t l = 0; l <= depth; ++l) {
    const Matrix gap = rows_of(p, l, skips) - rows_of(q, l, skips);
    Index row = -1, column = -1;
    result.worst_of_layer.push_back(gap.size() > 0 ? gap.cwiseAbs().maxCoeff(&row, &column) : 0);
    sum += gap.squaredNorm();
    count += gap.size();
    if (result.worst_of_layer.back() <= result.worst_error) continue;
    result.worst_error = result.worst_of_layer.back();
    result.worst_layer = result.worst_unit = -1;
    if (l < depth) {
      result.worst_layer = at(l);
      result.worst_unit = place[l][static_cast<std::size_t>(row)];
    } else if (depth > 0 && column < p.layers[l].W.cols()) {
      result.worst_layer = at(depth - 1);
      result.worst_unit = place[depth - 1][static_cast<std::size_t>(column)];
    }
  }
  result.rms_error = count > 0 ? std::sqrt(sum / static_cast<double>(count)) : 0;
  return result;
}

std::vector<Index> optimal_assignment(const Matrix& cost) {
  // Shortest augmenting paths with potentials; 1-based as usual, column 0 is the virtual start.
  const Index n = cost.rows();
  if (cost.cols() != n) throw std::invalid_argument("optimal_assignment: the cost matrix is not square");
  std::vector<double> u(n + 1, 0), v(n + 1, 0);
  std::vector<Index> row_of(n + 1, 0), previous(n + 1, 0);
  for (Index i = 1; i <= n; ++i) {
    row_of[0] = i;
    Index column = 0;
    std::vector<double> least(n + 1, std::numeric_limits<double>::infinity());
    std::vector<bool> done(n + 1, false);
    do {
      done[column] = true;
      const Index row = row_of[column];
      double delta = std::numeric_limits<double>::infinity();
      Index next = 0;
      for (Index j = 1; j <= n; ++j) {
        if (done[j]) continue;
        const double reduced = cost(row - 1, j - 1) - u[row] - v[j];
        if (reduced < least[j]) {
          least[j] = reduced;
          previous[j] = column;
        }
        if (least[j] < delta || next == 0) {
          delta = least[j];
          next = j;
        }
      }
      for (Index j = 0; j <= n; ++j) {
        if (done[j]) {
          u[row_of[j]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = previous[column]) row_of[column] = row_of[previous[column]];
  }
  std::vector<Index> column_of(n);
  for (Index j = 1; j <= n; ++j) column_of[row_of[j] - 1] = j - 1;
  return column_of;
}

}  // namespace exhume
