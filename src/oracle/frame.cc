#include "oracle/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/random.h"
#include "base/vector_clones.h"
#include "exhume/error.h"

namespace exhume {
namespace {

// How far the origin lies off the middle, so that it is no special point: in inputs where there is no box, as
// a share of half a side where there is one.
constexpr double kOffset = 0.1;

// An input that is a whole number to so many roundings of its ends is that number.
constexpr double kSnap = 8;

// The largest t >= 0 with low <= x + t v <= high.
double largest_step(const Box& box, const Vector& x, const Vector& v) {
  double most = std::numeric_limits<double>::infinity();
  if (!box.bounded()) return most;
  for (Index n = 0; n < x.size(); ++n) {
    if (v(n) > 0) most = std::min(most, (box.high - x(n)) / v(n));
    if (v(n) < 0) most = std::min(most, (box.low - x(n)) / v(n));
  }
  return std::max(most, 0.0);
}

// x += u B for one row: u: s, B: s x d, row-major. Always in one order, five terms at a time.
EXHUME_VECTOR_CLONES
void add_row(const double* u, const double* B, Index s, Index d, double* __restrict x) {
  Index a = 0;
  for (; a + 5 <= s; a += 5, B += 5 * d) {
    const double u0 = u[a], u1 = u[a + 1], u2 = u[a + 2], u3 = u[a + 3], u4 = u[a + 4];
    const double *b1 = B + d, *b2 = B + 2 * d, *b3 = B + 3 * d, *b4 = B + 4 * d;
    for (Index j = 0; j < d; ++j) x[j] += u0 * B[j] + u1 * b1[j] + u2 * b2[j] + u3 * b3[j] + u4 * b4[j];
  }
  for (; a < s; ++a, B += d) {
    for (Index j = 0; j < d; ++j) x[j] += u[a] * B[j];
  }
}

// x0 + u B. The last bits of an input must not depend on the batch in which it is asked, as those of a
// blocked product do, or after an interruption a query would not be the same as before.
RowMatrix sums_of_rows(const RowMatrix& u, const RowMatrix& B, const Vector& x0) {
  RowMatrix out(u.rows(), B.cols());
  for (Index q = 0; q < u.rows(); ++q) {
    out.row(q) = x0.transpose();
    add_row(u.row(q).data(), B.data(), u.cols(), B.cols(), out.row(q).data());
  }
  return out;
}

}  // namespace

Queries Queries::part(Index first, Index count) const {
  Queries out;
  out.plain = plain;
  out.turn = turn;
  out.rows = rows.middleRows(first, count);
  if (!direction.empty()) {
    out.direction.assign(direction.begin() + first, direction.begin() + first + count);
    out.step = step.segment(first, count);
  }
  return out;
}

Queries in_subspace(RowMatrix u, std::uint32_t turn) {
  Queries out;
  out.rows = std::move(u);
  out.turn = turn;
  return out;
}

Queries plain_rows(RowMatrix x) {
  Queries out;
  out.rows = std::move(x);
  out.plain = true;
  return out;
}

Frame::Frame(Index inputs, Index dimensions, std::uint64_t seed, Box box, std::uint32_t turn)
    : domain_(std::move(box)),
      box_(domain_.per_input() ? Box{-1, 1} : domain_),
      seed_(seed),
      turn_(turn),
      origin_(inputs),
      basis_(dimensions, inputs) {
  domain_.validate(inputs);
  if (dimensions < 1 || dimensions > inputs) {
    throw std::invalid_argument(
        fmt::format("a subspace of {} dimensions does not lie in {} inputs", dimensions, inputs));
  }
  cosine_.resize(static_cast<std::size_t>(4 * inputs));
  for (std::size_t j = 0; j < cosine_.size(); ++j) {
    cosine_[j] = std::cos(std::numbers::pi * static_cast<double>(j) / (2 * static_cast<double>(inputs)));
  }
  const Stream signs(seed, "frame signs"), origin(seed, "frame origin"),
      order(seed, turn == 0 ? "frame order" : fmt::format("frame order, turn {}", turn));
  for (Index n = 0; n < inputs; ++n)
    sign_.push_back(signs.uniforms(static_cast<std::uint64_t>(n), 0).first < 0.5 ? -1 : 1);
  order_.resize(static_cast<std::size_t>(inputs));
  std::iota(order_.begin(), order_.end(), 0);
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[order.below(i, i)]);
  for (Index a = 0; a < dimensions; ++a) basis_.row(a) = direction(a);
  for (Index n = 0; n < inputs; ++n) {
    const auto row = static_cast<std::uint64_t>(n);
    origin_(n) = box_.bounded() ? (box_.low + box_.high) / 2 + kOffset * (box_.high - box_.low) / 2 *
                                                                   (2 * origin.uniforms(row, 0).first - 1)
                                : kOffset * origin.normals(row, 0).first;
  }
}

Eigen::RowVectorXd Frame::direction(Index i) const {
  const Index d = inputs();
  const std::int64_t k = order_[static_cast<std::size_t>(i)];
  const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(d));
  Eigen::RowVectorXd out(d);
  for (Index n = 0; n < d; ++n) {
    out(n) = scale * sign_[static_cast<std::size_t>(n)] *
             cosine_[static_cast<std::size_t>((2 * n + 1) * k % (4 * d))];
  }
  return out;
}

Matrix Frame::directions(Index first, Index count) const {
  Matrix out(count, inputs());
  for (Index i = 0; i < count; ++i) out.row(i) = direction(first + i);
  return out;
}

RowMatrix Frame::points(const Queries& queries) const {
  if (queries.plain) return queries.rows;
  if (queries.turn != turn_) return turned(queries.turn).points(queries);
  const Index s = queries.rows.cols();
  if (s > inputs())
    throw DataError(fmt::format("queries of {} coordinates, but there are {} inputs", s, inputs()));
  RowMatrix x = sums_of_rows(queries.rows, s <= dimensions() ? basis_.topRows(s) : directions(0, s), origin_);
  std::int32_t known = -1;
  Eigen::RowVectorXd along;
  for (Index q = 0; q < x.rows() && !queries.direction.empty(); ++q) {
    const std::int32_t i = queries.direction[static_cast<std::size_t>(q)];
    if (i < 0 || i >= inputs())
      throw DataError(fmt::format("a query goes along direction {} of {}", i, inputs()));
    if (i != known) along = direction(i);
    known = i;
    x.row(q) += queries.step(q) * along;
  }
  // Rounding must not leave the box by its last bit.
  if (box_.bounded()) x = x.cwiseMax(box_.low).cwiseMin(box_.high);
  return x;
}

RowMatrix Frame::to_inputs(RowMatrix z) const {
  if (!domain_.per_input()) return z;
  for (Index n = 0; n < z.cols(); ++n) {
    const double low = domain_.lows(n), high = domain_.highs(n), middle = low + (high - low) / 2,
                 half = (high - low) / 2;
    const double rounding = kSnap * std::numeric_limits<double>::epsilon() * (std::abs(middle) + half);
    for (Index q = 0; q < z.rows(); ++q) {
      double& x = z(q, n);
      x = std::clamp(middle + half * x, low, high);
      // So that whole numbers can be asked at all.
      if (const double whole = std::round(x); std::abs(x - whole) <= rounding)
        x = std::clamp(whole, low, high);
    }
  }
  return z;
}

RowMatrix Frame::from_inputs(RowMatrix x) const {
  if (!domain_.per_input()) return x;
  for (Index n = 0; n < x.cols(); ++n) {
    const double low = domain_.lows(n), high = domain_.highs(n), half = (high - low) / 2;
    if (half > 0) {
      x.col(n) = ((x.col(n).array() - (low + half)) / half).max(box_.low).min(box_.high).matrix();
    } else {
      x.col(n).setZero();
    }
  }
  return x;
}

Network Frame::on_inputs(Network network) const {
  if (!domain_.per_input() || network.empty()) return network;
  const Index d = inputs();
  Vector slope(d), middle(d);  // z = slope (x - middle); 0 of an input that is fixed
  for (Index n = 0; n < d; ++n) {
    const double half = (domain_.highs(n) - domain_.lows(n)) / 2;
    slope(n) = half > 0 ? 1 / half : 0;
    middle(n) = domain_.lows(n) + half;
  }
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    Layer& layer = network.layers[l];
    if (l > 0 && layer.L.size() == 0) continue;
    auto on_z = l == 0 ? layer.W.leftCols(d) : layer.L.leftCols(d);
    on_z = (on_z * slope.asDiagonal()).eval();
    layer.b -= on_z * middle;
  }
  return network;
}

RowMatrix Frame::points_within(const RowMatrix& u) const {
  Queries queries = in_subspace(u);
  queries.turn = turn_;
  return points(queries);
}

double Frame::reach(const Vector& u, const Vector& along) const {
  if (!box_.bounded()) return std::numeric_limits<double>::infinity();
  return largest_step(box_, origin_ + basis_.transpose() * u, along);
}

double Frame::reach_from(const Vector& x, const Vector& v) const { return largest_step(box_, x, v); }

double Frame::reach_within(const Vector& u, const Vector& v) const {
  if (!box_.bounded()) return std::numeric_limits<double>::infinity();
  return reach(u, basis_.transpose() * v);
}

}  // namespace exhume
