#include "moments/moments.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <vector>

#include "base/parallel.h"
#include "data/reduce.h"
#include "data/resident.h"
#include "linalg/symmetric_matrix.h"
#include "linalg/symmetric_runs.h"
#include "moments/device_moments.h"
#include "moments/whole_moments.h"

namespace exhume {
namespace {

// Rows whose features fit into the second-level cache together with the sums.
constexpr Index kMomentTile = 128;

// Some rows of a block, every second one, seen in place.
using EverySecondRow = Eigen::Map<const RowMatrix, 0, Eigen::OuterStride<>>;

EverySecondRow every_second_row(const Eigen::Ref<const RowMatrix>& rows, Index first, Index count) {
  const Index stride = rows.outerStride();
  return {rows.data() + first * stride, count, rows.cols(), Eigen::OuterStride<>(2 * stride)};
}

// Coordinates of x x^T, one column a row x, of the same with the inputs in reverse, and the first times one
// output; kept from tile to tile.
struct Scratch {
  Matrix features, reversed, weighted;
  std::vector<Matrix> squares;  // order 2 of many inputs: sum r x x^T for every output, upper triangle
};

// Moments of order 2 alone, many inputs and few outputs: sums of r x x^T are faster than coordinates times r.
constexpr Index kManyInputs = 128, kColumnsAtOnce = 64;
bool by_squares(Index d, Index m, int order) { return order == 2 && d >= kManyInputs && 4 * m <= d; }

void add_squares(const EverySecondRow& x, const EverySecondRow& r, Scratch& scratch) {
  const Index d = x.cols();
  scratch.features = x;
  for (Index o = 0; o < r.cols(); ++o) {
    scratch.weighted = scratch.features.array().colwise() * r.col(o).array();
    for (Index b = 0; b < d; b += kColumnsAtOnce) {
      const Index columns = std::min(kColumnsAtOnce, d - b);
      scratch.squares[static_cast<std::size_t>(o)].block(0, b, b + columns, columns).noalias() +=
          scratch.features.leftCols(b + columns).transpose() * scratch.weighted.middleCols(b, columns);
    }
  }
}

void take_squares(const std::vector<Matrix>& squares, Matrix& order2) {
  for (std::size_t o = 0; o < squares.size(); ++o) {
    const Matrix& M = squares[o];
    auto to = order2.col(static_cast<Index>(o));
    for (Index b = 0; b < M.cols(); ++b) {
      to.segment(symmetric_size(b), b) += std::numbers::sqrt2 * M.col(b).head(b);
      to(symmetric_position(b, b)) += M(b, b);
    }
  }
}

void add_tile(const EverySecondRow& x, const EverySecondRow& r, int order, Scratch& scratch, RawSums& sums) {
  const Index d = x.cols(), m = r.cols(), p = symmetric_size(d), rows = x.rows();
  sums.order0 += r.colwise().sum().transpose();
  if (order < 1) return;
  sums.order1.noalias() += x.transpose() * r;
  if (order < 2) return;
  if (by_squares(d, m, order)) {
    add_squares(x, r, scratch);
    return;
  }
  Matrix& features = scratch.features;
  features.resize(p, rows);
  for (Index i = 0; i < rows; ++i) rank_one_coordinates(x.row(i).data(), d, features.col(i).data());
  sums.order2.noalias() += features * r;
  if (order < 3) return;
  if (order >= 4) {
    scratch.reversed.resize(p, rows);
    Vector reverse(d);
    for (Index i = 0; i < rows; ++i) {
      reverse = x.row(i).reverse().transpose();
      rank_one_coordinates(reverse.data(), d, scratch.reversed.col(i).data());
    }
  }
  Matrix& weighted = scratch.weighted;
  for (Index o = 0; o < m; ++o) {
    weighted = features.array().rowwise() * r.col(o).transpose().array();
    for_symmetric_runs(d, [&](Index b, Index from, Index size) {
      const auto run = weighted.middleRows(from, size);
      sums.order3.block(from, o * d + b, size, d - b).noalias() += run * x.rightCols(d - b);
      if (order < 4) return;
      const Index columns = symmetric_size(d - b);
      sums.order4.block(from, o * p, size, columns).noalias() +=
          run * scratch.reversed.topRows(columns).transpose();
    });
  }
}

RawSums empty_sums(Index d, Index m, int order) {
  const Index p = symmetric_size(d);
  RawSums sums;
  sums.order0 = Vector::Zero(m);
  if (order >= 1) sums.order1 = Matrix::Zero(d, m);
  if (order >= 2) sums.order2 = Matrix::Zero(p, m);
  if (order >= 3) sums.order3 = Matrix::Zero(p, d * m);
  if (order >= 4) sums.order4 = Matrix::Zero(p, p * m);
  return sums;
}

double root_of(Index a, Index b) { return a == b ? 1.0 : std::numbers::sqrt2; }

// All entries of order 3 from the sums, p x d, and of order 4, p x p with the columns in their usual order.
Matrix filled_order3(const Eigen::Ref<const Matrix>& sums) {
  const Index d = sums.cols();
  Matrix out(sums.rows(), d);
  for (Index b = 0; b < d; ++b) {
    for (Index a = 0; a <= b; ++a) {
      for (Index c = 0; c < d; ++c) {
        std::array<Index, 3> s{a, b, c};
        std::sort(s.begin(), s.end());
        out(symmetric_position(a, b), c) =
            root_of(a, b) / root_of(s[0], s[1]) * sums(symmetric_position(s[0], s[1]), s[2]);
      }
    }
  }
  return out;
}

Matrix filled_order4(const Eigen::Ref<const Matrix>& sums, Index d) {
  Matrix out(sums.rows(), sums.cols());
  for (Index e = 0; e < d; ++e) {
    for (Index c = 0; c <= e; ++c) {
      const Index column = symmetric_position(c, e);
      for (Index b = 0; b <= e; ++b) {
        for (Index a = 0; a <= b; ++a) {
          const Index row = symmetric_position(a, b);
          if (row > column) break;
          std::array<Index, 4> s{a, b, c, e};
          std::sort(s.begin(), s.end());
          const double scale = root_of(a, b) * root_of(c, e) / (root_of(s[0], s[1]) * root_of(s[2], s[3]));
          out(row, column) = out(column, row) =
              scale * sums(symmetric_position(s[0], s[1]), symmetric_position(d - 1 - s[3], d - 1 - s[2]));
        }
      }
    }
  }
  return out;
}

// E[r x^3] - the three ways of pairing x with the identity, seen as p x d.
Matrix correct_order3(const Matrix& raw, const Vector& order1) {
  const Index d = order1.size();
  const double root = std::sqrt(2.0);
  Matrix out = raw;
  for (Index b = 0; b < d; ++b) {
    for (Index a = 0; a <= b; ++a) {
      const Index at = symmetric_position(a, b);
      if (a == b) {
        out.row(at) -= order1.transpose();
        out(at, a) -= 2 * order1(a);
      } else {
        out(at, b) -= root * order1(a);
        out(at, a) -= root * order1(b);
      }
    }
  }
  return out;
}

// E[r x^4] - sum of pairings of E[r x^2] with I + E[r] times the pairings of I with I, as p x p.
Matrix correct_order4(const Matrix& raw, const Vector& order2, double order0) {
  const Matrix M = from_coordinates(order2);
  const Index d = M.rows(), p = raw.rows();
  const double root = std::sqrt(2.0);
  const auto delta = [](Index i, Index j) { return i == j ? 1.0 : 0.0; };
  Matrix out(p, p);
  for (Index l = 0; l < d; ++l) {
    for (Index k = 0; k <= l; ++k) {
      const Index column = symmetric_position(k, l);
      const double column_scale = k == l ? 1.0 : root;
      for (Index j = 0; j < d; ++j) {
        for (Index i = 0; i <= j; ++i) {
          const Index row = symmetric_position(i, j);
          const double scale = column_scale * (i == j ? 1.0 : root);
          const double pairings = M(i, j) * delta(k, l) + M(k, l) * delta(i, j) + M(i, k) * delta(j, l) +
                                  M(j, l) * delta(i, k) + M(i, l) * delta(j, k) + M(j, k) * delta(i, l);
          const double identities =
              delta(i, j) * delta(k, l) + delta(i, k) * delta(j, l) + delta(i, l) * delta(j, k);
          out(row, column) = raw(row, column) - scale * (pairings - order0 * identities);
        }
      }
    }
  }
  return out;
}

}  // namespace

namespace {

HermiteMoments low_moments(const DeviceRows& rows, int order, const Control& control) {
  HermiteMoments out(rows.inputs(), rows.outputs(), order);
  std::array<LowSums, 2> sums = low_sums_on_device(rows, order, control);
  for (std::size_t h = 0; h < 2; ++h) {
    out.count[h] = rows.count[h];
    out.sums[h].order0 = std::move(sums[h].order0);
    if (order >= 1) out.sums[h].order1 = std::move(sums[h].order1);
    if (order >= 2) out.sums[h].order2 = std::move(sums[h].order2);
  }
  return out;
}

}  // namespace

SecondMoments::SecondMoments(Index d, Index m)
    : inputs(d), outputs(m), mean(Vector::Zero(d + m)), centred(Matrix::Zero(d + m, d + m)) {}

void SecondMoments::add(const SampleBlock& block) {
  SecondMoments own(inputs, outputs);
  own.count = block.rows();
  if (own.count == 0) return;
  Matrix joint(block.rows(), inputs + outputs);
  joint << block.x(), block.y();
  own.mean = joint.colwise().mean().transpose();
  joint.rowwise() -= own.mean.transpose();
  own.centred.noalias() = joint.transpose() * joint;
  merge(own);
}

void SecondMoments::merge(const SecondMoments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  require_fit(other, *this);
  const double total = static_cast<double>(count + other.count);
  const Vector step = other.mean - mean;
  centred += other.centred;
  centred.noalias() +=
      (static_cast<double>(count) * static_cast<double>(other.count) / total) * step * step.transpose();
  mean += step * (static_cast<double>(other.count) / total);
  count += other.count;
}

Matrix SecondMoments::covariance_x() const {
  return centred.topLeftCorner(inputs, inputs) / static_cast<double>(count);
}
Matrix SecondMoments::covariance_y() const {
  return centred.bottomRightCorner(outputs, outputs) / static_cast<double>(count);
}
Matrix SecondMoments::covariance_yx() const {
  return centred.bottomLeftCorner(outputs, inputs) / static_cast<double>(count);
}

SecondMoments second_moments(const SampleSource& samples, const Control& control) {
  const SecondMoments empty(samples.inputs(), samples.outputs());
  SecondMoments all = reduce_blocks(samples, empty, control, "reading",
                                    [](SecondMoments& sums, const SampleBlock& block) { sums.add(block); });
  require_fit(all, empty);
  return all;
}

void RawSums::add(const RawSums& other) {
  order0 += other.order0;
  order1 += other.order1;
  order2 += other.order2;
  order3 += other.order3;
  order4 += other.order4;
}

HermiteMoments::HermiteMoments(Index d, Index m, int highest) : inputs(d), outputs(m), order(highest) {
  for (RawSums& half_sums : sums) half_sums = empty_sums(d, m, highest);
}

void HermiteMoments::add(Index first_row, const Eigen::Ref<const RowMatrix>& x,
                         const Eigen::Ref<const RowMatrix>& r) {
  Scratch scratch;
  for (int h = 0; h < 2; ++h) {
    const Index offset = (first_row + h) % 2;  // where the first row of this half lies
    const Index half_rows = x.rows() > offset ? (x.rows() - offset + 1) / 2 : 0;
    count[h] += half_rows;
    if (by_squares(inputs, outputs, order))
      scratch.squares.assign(static_cast<std::size_t>(outputs), Matrix::Zero(inputs, inputs));
    for (Index first = 0; first < half_rows; first += kMomentTile) {
      const Index rows = std::min(kMomentTile, half_rows - first);
      const Index at = offset + 2 * first;
      add_tile(every_second_row(x, at, rows), every_second_row(r, at, rows), order, scratch, sums[h]);
    }
    take_squares(scratch.squares, sums[h].order2);
  }
}

void HermiteMoments::merge(const HermiteMoments& other) {
  require_fit(other, *this);
  for (int h = 0; h < 2; ++h) {
    count[h] += other.count[h];
    sums[h].add(other.sums[h]);
  }
}

Matrix HermiteMoments::half(int p, int h) const {
  const RawSums& raw = sums[h];
  const double scale = count[h] > 0 ? 1.0 / static_cast<double>(count[h]) : 0.0;
  const Index d = inputs, m = outputs, size = symmetric_size(d);
  if (p == 0) return scale * raw.order0.transpose();
  if (p == 1) return scale * raw.order1;
  if (p == 2) {
    Matrix out = scale * raw.order2;
    for (Index a = 0; a < d; ++a) out.row(symmetric_position(a, a)) -= scale * raw.order0.transpose();
    return out;
  }
  Matrix out(size, (p == 3 ? d : size) * m);
  for (Index o = 0; o < m; ++o) {
    if (p == 3) {
      out.middleCols(o * d, d) =
          correct_order3(scale * filled_order3(raw.order3.middleCols(o * d, d)), scale * raw.order1.col(o));
    } else {
      out.middleCols(o * size, size) =
          correct_order4(scale * filled_order4(raw.order4.middleCols(o * size, size), d),
                         scale * raw.order2.col(o), scale * raw.order0(o));
    }
  }
  return out;
}

Matrix HermiteMoments::estimate(int p) const {
  if (count[1] == 0) return half(p, 0);  // a single row is an even one
  return 0.5 * (half(p, 0) + half(p, 1));
}

Matrix HermiteMoments::noise(int p) const { return 0.5 * (half(p, 0) - half(p, 1)); }

HermiteMoments hermite_moments(const SampleSource& samples, int order, const Control& control) {
  if (const DeviceRows* there = rows_on_device(samples); there != nullptr && order <= 2)
    return low_moments(*there, order, control);
  // Sums of many numbers are worth more rows each: they are merged, block after block.
  constexpr Index kManyNumbers = 500'000, kMoreRows = 4 * kBlockRows;
  const HermiteMoments empty(samples.inputs(), samples.outputs(), order);
  const Index numbers =
      empty.sums[0].order2.size() + empty.sums[0].order3.size() + empty.sums[0].order4.size();
  HermiteMoments all = reduce_blocks(
      samples, empty, control, "moments",
      [](HermiteMoments& sums, const SampleBlock& block) {
        sums.add(block.first_row(), block.x(), block.y());
      },
      numbers >= kManyNumbers ? kMoreRows : kBlockRows);
  require_fit(all, empty);
  return all;
}

}  // namespace exhume
