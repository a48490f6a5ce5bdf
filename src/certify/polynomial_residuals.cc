#include "certify/polynomial_residuals.h"

#include <algorithm>
#include <cmath>

#include "data/reduce.h"

namespace exhume {
namespace {

// sum r h and sum r^2 h^2 of the polynomials of one kind.
struct Correlations {
  Matrix first, second;
  void merge(const Correlations& other) {
    first += other.first;
    second += other.second;
  }
  // first += left^T diag(r) right for polynomials that are products; the second of the squares.
  void add(Index at, const Matrix& left, const Matrix& weighted_right, const Matrix& squared_left,
           const Matrix& weighted_squares) {
    const Index width = weighted_right.cols();
    first.middleCols(at, width).noalias() += left.transpose() * weighted_right;
    second.middleCols(at, width).noalias() += squared_left.transpose() * weighted_squares;
  }
};

Correlations none(Index rows, Index cols) { return {Matrix::Zero(rows, cols), Matrix::Zero(rows, cols)}; }

double t_of(const Correlations& sums, Index i, Index j) {
  const double squares = sums.second(i, j);
  return squares > 0 ? std::abs(sums.first(i, j)) / std::sqrt(squares) : 0;
}

struct Sums {
  Correlations squares, cubes;  // d x m: He_2(x_a), He_3(x_a)
  Correlations pairs, mixed;    // d x (d m): x_a x_b, He_2(x_a) x_b, where a != b
  Correlations triples;         // (a < b < c) x m
  void merge(const Sums& other) {
    squares.merge(other.squares);
    cubes.merge(other.cubes);
    pairs.merge(other.pairs);
    mixed.merge(other.mixed);
    triples.merge(other.triples);
  }
};

// x_a x_b x_c of three inputs, for weights r and r^2 of one output.
void add_triples(const Matrix& X, const Matrix& Q, const Vector& r, Index o, Correlations& to) {
  const Index d = X.cols();
  Index at = 0;
  for (Index a = 0; a + 2 < d; ++a) {
    const Index above = d - a - 1;
    const Vector weights = r.cwiseProduct(X.col(a));
    const auto B = X.rightCols(above), B2 = Q.rightCols(above);
    const Matrix first = B.transpose() * Matrix(weights.asDiagonal() * B);
    const Matrix second = B2.transpose() * Matrix(weights.cwiseAbs2().asDiagonal() * B2);
    for (Index c = 1; c < above; ++c) {
      to.first.col(o).segment(at, c) += first.col(c).head(c);
      to.second.col(o).segment(at, c) += second.col(c).head(c);
      at += c;
    }
  }
}

void add_rows(const SampleBlock& block, bool triples, Sums& to) {
  const Matrix X = block.x(), R = block.y();
  const Matrix Q = X.cwiseAbs2(), S = Q.array() - 1, S2 = S.cwiseAbs2(), T = X.array() * (Q.array() - 3),
               R2 = R.cwiseAbs2();
  to.squares.add(0, S, R, S2, R2);
  to.cubes.add(0, T, R, T.cwiseAbs2(), R2);
  for (Index o = 0; o < R.cols(); ++o) {
    const Matrix RX = R.col(o).asDiagonal() * X, RX2 = R2.col(o).asDiagonal() * Q;
    to.pairs.add(o * X.cols(), X, RX, Q, RX2);
    to.mixed.add(o * X.cols(), S, RX, S2, RX2);
    if (triples) add_triples(X, Q, R.col(o), o, to.triples);
  }
}

}  // namespace

PolynomialLook look_at_polynomials(const SampleSource& residual, bool triples, const Control& control) {
  const Index d = residual.inputs(), m = residual.outputs();
  const Index distinct = triples ? d * (d - 1) * (d - 2) / 6 : 0;
  const Correlations inputs = none(d, m), pairs = none(d, d * m);
  const Sums sums =
      reduce_blocks(residual, Sums{inputs, inputs, pairs, pairs, none(distinct, m)}, control, "",
                    [&](Sums& to, const SampleBlock& block) { add_rows(block, triples, to); });
  PolynomialLook look;
  const auto look_at = [&](const Correlations& of, Index i, Index j) {
    look.largest = std::max(look.largest, t_of(of, i, j));
  };
  for (Index o = 0; o < m; ++o) {
    for (Index a = 0; a < d; ++a) {
      look_at(sums.squares, a, o);
      look_at(sums.cubes, a, o);
      for (Index b = 0; b < d; ++b) {
        if (a < b) look_at(sums.pairs, a, o * d + b);
        if (a != b) look_at(sums.mixed, a, o * d + b);
      }
    }
    for (Index i = 0; i < distinct; ++i) look_at(sums.triples, i, o);
  }
  const Index terms = d * (d + 1) / 2 + d * d + distinct;
  look.tested = static_cast<double>(std::max<Index>(terms * m, 1));
  return look;
}

}  // namespace exhume
