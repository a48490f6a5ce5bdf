#include "exhume/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace exhume {
namespace {

void require(bool fits, const char* what, Index have, Index want) {
  if (!fits) throw std::invalid_argument(fmt::format("network: {} is {}, expected {}", what, have, want));
}

// Squared distance of every unit of `p` to every unit of `q`: k x k. With `turn`, units of
// p are turned around.
Matrix unit_distances(const Network& p, const Network& q, bool turn) {
  const Index k = p.hidden();
  const double sign = turn ? -1 : 1;
  Matrix cost(k, k);
  for (Index i = 0; i < k; ++i) {
    for (Index j = 0; j < k; ++j) {
      cost(i, j) = (sign * p.W.row(i) - q.W.row(j)).squaredNorm() + std::pow(sign * p.b(i) - q.b(j), 2) +
                   (p.A.col(i) - q.A.col(j)).squaredNorm();
    }
  }
  return cost;
}

Matrix linear_term(const Network& network) {
  return network.has_linear_term() ? network.L : Matrix::Zero(network.outputs(), network.inputs());
}

}  // namespace

void Network::validate() const {
  const Index k = W.rows();
  require(b.size() == k, "the size of b", b.size(), k);
  require(A.cols() == k, "the number of columns of A", A.cols(), k);
  require(c.size() == A.rows(), "the size of c", c.size(), A.rows());
  if (L.size() != 0) {
    require(L.rows() == A.rows(), "the number of rows of L", L.rows(), A.rows());
    require(L.cols() == W.cols(), "the number of columns of L", L.cols(), W.cols());
  }
  if (!W.allFinite() || !b.allFinite() || !A.allFinite() || !c.allFinite() || !L.allFinite()) {
    throw std::invalid_argument("network: a weight is not a finite number");
  }
}

RowMatrix evaluate(const Network& network, const Eigen::Ref<const RowMatrix>& x) {
  require(x.cols() == network.inputs(), "the number of input columns", x.cols(), network.inputs());
  RowMatrix y = RowMatrix::Zero(x.rows(), network.outputs());
  if (network.hidden() > 0) {  // BLAS complains of empty products
    RowMatrix hidden = x * network.W.transpose();
    hidden.rowwise() += network.b.transpose();
    y = hidden.cwiseMax(0.0) * network.A.transpose();
  }
  y.rowwise() += network.c.transpose();
  if (network.has_linear_term()) y += x * network.L.transpose();
  return y;
}

Network canonical(const Network& network) {
  const Index k = network.hidden();
  Network out;
  out.c = network.c;
  out.L = network.L;
  std::vector<Index> kept;
  Vector scale = network.W.rowwise().norm();
  for (Index i = 0; i < k; ++i) {
    if (network.A.col(i).isZero(0)) continue;
    if (scale(i) == 0) {
      out.c += network.A.col(i) * std::max(network.b(i), 0.0);
    } else {
      kept.push_back(i);
    }
  }
  const Index size = static_cast<Index>(kept.size());
  out.W.resize(size, network.inputs());
  out.b.resize(size);
  out.A.resize(network.outputs(), size);
  Vector strength(k);
  for (Index i : kept) strength(i) = scale(i) * network.A.col(i).norm();
  std::sort(kept.begin(), kept.end(), [&](Index i, Index j) {
    if (strength(i) != strength(j)) return strength(i) > strength(j);
    for (Index a = 0; a < network.inputs(); ++a) {
      if (network.W(i, a) / scale(i) != network.W(j, a) / scale(j)) {
        return network.W(i, a) / scale(i) > network.W(j, a) / scale(j);
      }
    }
    return network.b(i) / scale(i) > network.b(j) / scale(j);
  });
  for (Index r = 0; r < size; ++r) {
    const Index i = kept[r];
    out.W.row(r) = network.W.row(i) / scale(i);
    out.b(r) = network.b(i) / scale(i);
    out.A.col(r) = network.A.col(i) * scale(i);
  }
  return out;
}

double unit_distance(const Vector& u, const Vector& v, bool sign_open) {
  const Vector a = u.normalized(), b = v.normalized();
  const double apart = (a - b).norm();
  return sign_open ? std::min(apart, (a + b).norm()) : apart;
}

Network with_units_turned(const Network& network, const std::vector<Index>& units) {
  // a max(z, 0) = a max(-z, 0) + a z
  Network out = network;
  if (units.empty()) return out;
  out.L = linear_term(network);
  for (Index i : units) {
    out.L += network.A.col(i) * network.W.row(i);
    out.c += network.A.col(i) * network.b(i);
    out.W.row(i) *= -1;
    out.b(i) *= -1;
  }
  return out;
}

Alignment align(const Network& first, const Network& second, const AlignOptions& options) {
  Network p = canonical(first);
  const Network q = canonical(second);
  Alignment result;
  if (p.inputs() != q.inputs() || p.outputs() != q.outputs() || p.hidden() != q.hidden()) {
    result.worst_error = result.rms_error = std::numeric_limits<double>::infinity();
    return result;
  }
  result.comparable = true;
  const Index k = p.hidden();
  Matrix cost = unit_distances(p, q, false);
  const Matrix turned_cost = options.free_signs ? unit_distances(p, q, true) : Matrix();
  const Matrix best = options.free_signs ? Matrix(cost.cwiseMin(turned_cost)) : cost;
  result.match = optimal_assignment(best);
  result.turned.assign(static_cast<size_t>(k), false);
  std::vector<Index> turn;
  if (options.free_signs) {
    for (Index i = 0; i < k; ++i) {
      if (turned_cost(i, result.match[i]) < cost(i, result.match[i])) {
        result.turned[i] = true;
        turn.push_back(i);
      }
    }
    p = with_units_turned(p, turn);
  }

  double sum = 0;
  Index count = 0;
  const auto compare = [&](const auto& difference, Index unit) {
    for (Index a = 0; a < difference.size(); ++a) {
      const double gap = std::abs(difference(a));
      sum += gap * gap;
      ++count;
      if (!(gap <= result.worst_error)) {
        result.worst_error = gap;
        result.worst_unit = unit;
      }
    }
  };
  for (Index i = 0; i < k; ++i) {
    const Index j = result.match[i];
    compare((p.W.row(i) - q.W.row(j)).eval(), i);
    compare(Vector::Constant(1, p.b(i) - q.b(j)), i);
    compare((p.A.col(i) - q.A.col(j)).eval(), i);
  }
  compare((p.c - q.c).eval(), -1);
  if (p.has_linear_term() || q.has_linear_term()) {
    const Matrix difference = linear_term(p) - linear_term(q);
    compare(Vector(difference.reshaped()), -1);
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
