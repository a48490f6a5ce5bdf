// Two-layer ReLU networks, and when two of them are the same.
//
//   f(x) = A max(Wx + b, 0) + c + L x        W: k x d   b: k   A: m x k   c: m   L: m x d, or empty for none
//
// Symmetries. Exchanging units, or scaling (w_i, b_i) by s > 0 and column i of A by 1/s, changes nothing.
// Since max(z,0) = (z + |z|)/2, turning (w_i, b_i) around changes f only by a linear function, so where a
// linear term is free the sign of a unit is not determined either. Comparison is up to these symmetries.
#pragma once

#include <vector>

#include "exhume/types.h"

namespace exhume {

struct Network {
  Matrix W;  // k x d
  Vector b;  // k
  Matrix A;  // m x k
  Vector c;  // m
  Matrix L;  // m x d, or 0 x 0

  [[nodiscard]] Index inputs() const { return W.cols(); }
  [[nodiscard]] Index hidden() const { return W.rows(); }
  [[nodiscard]] Index outputs() const { return A.rows(); }
  [[nodiscard]] bool has_linear_term() const { return L.size() != 0; }
  // Throws std::invalid_argument unless the shapes fit together and every entry is finite.
  void validate() const;
};

// f at every row of x: rows x m.
[[nodiscard]] RowMatrix evaluate(const Network& network, const Eigen::Ref<const RowMatrix>& x);

// The representative of the symmetry class: rows of W of unit norm, units by decreasing norm of their column
// of A, ties by the entries of the row. Units that do nothing are dropped: a zero column of A at once; a zero
// row of W after its constant went into c. Deterministic.
[[nodiscard]] Network canonical(const Network& network);

// How far apart two units (w, b) are up to a positive factor, |u/|u| - v/|v||; with `sign_open` up to any
// factor, the lesser of that and |u/|u| + v/|v||. 0 for the same unit twice.
[[nodiscard]] double unit_distance(const Vector& u, const Vector& v, bool sign_open);

// The same function with unit i turned around for every i in `units`; the difference goes into L and c.
[[nodiscard]] Network with_units_turned(const Network& network, const std::vector<Index>& units);

// How far apart two networks are after the best matching of their units.
struct Alignment {
  std::vector<Index> match;  // unit i of the first is unit match[i] of the second, both in canonical order
  std::vector<bool> turned;  // unit i of the first had to be turned around (only with `free_signs`)
  double worst_error = 0;    // largest |difference| over W, b, A, c and L, rows of W of unit norm
  double rms_error = 0;      // root mean square over the same parameters
  Index worst_unit = -1;     // the unit (canonical order, first network) of the worst difference, or -1
  bool comparable = false;   // same d, m and, after dropping idle units, k; otherwise the errors are infinite
};

struct AlignOptions {
  bool free_signs = false;  // allow units to be turned around, at the price of a change in the linear term
};

// Matches units by optimal assignment on the squared distance of (w_i, b_i, a_i). O(k^3 + k^2 (d + m)).
[[nodiscard]] Alignment align(const Network& first, const Network& second, const AlignOptions& options = {});

// The assignment column[i] of row i that minimises sum_i cost(i, column[i]); cost is square. O(n^3).
[[nodiscard]] std::vector<Index> optimal_assignment(const Matrix& cost);

}  // namespace exhume
