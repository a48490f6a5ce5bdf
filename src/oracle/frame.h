// Coordinates for queries: a random orthonormal frame, of which the first s directions span a subspace.
//
//     x = x0 + sum_{a < s} u_a B_a + h B_i      u: s coordinates    i: one direction more, or none    h: step
//
//     B_i = (2/d)^(1/2) (eps_n cos(pi (2n+1) k_i / 2d))_{n < d}      eps_n random signs, k_i a random order
//
// The rows of a discrete cosine transform with random signs on its columns: orthonormal, made from a table of
// 4 d cosines, and flat (|B_in| <= (2/d)^(1/2)), so that in a box a direction reaches far, and the weights of
// a unit, whatever they are, look like normal numbers in it: Var(w.B_i) = |w|^2 / d over the signs.
//
// With a box every query lies in it: reach() says how far a direction leads. Where every input has ends of
// its own, all of this happens in the common box [-1, 1]^d of z,
//
//     x_n = (low_n + high_n) / 2 + z_n (high_n - low_n) / 2
//
// and only inputs_at() has x, which is what the oracle is asked. A network in z is one in x with the same
// outputs: on_inputs().
//
// A turned frame has the same origin and the same directions in another order, so another subspace: where a
// unit does not act in one it may in the next. Turn 0 is the frame as it was made.
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/oracle.h"

namespace exhume {

// Queries in the frame's coordinates, or plain rows of inputs.
struct Queries {
  RowMatrix rows;                       // n x s coordinates, or n x d inputs where `plain`
  std::vector<std::int32_t> direction;  // i, n of them, or empty for none
  Vector step;                          // h, likewise
  bool plain = false;
  std::uint32_t turn = 0;  // of the frame whose coordinates these are; 0 where `plain`

  [[nodiscard]] Index count() const { return rows.rows(); }
  // Queries [first, first + count).
  [[nodiscard]] Queries part(Index first, Index count) const;
};
[[nodiscard]] Queries in_subspace(RowMatrix u, std::uint32_t turn = 0);
[[nodiscard]] Queries plain_rows(RowMatrix x);

class Frame {
 public:
  // 1 <= dimensions <= inputs.
  Frame(Index inputs, Index dimensions, std::uint64_t seed, Box box, std::uint32_t turn = 0);
  [[nodiscard]] Frame turned(std::uint32_t turn) const { return turned(turn, dimensions()); }
  // With another number of dimensions: the first of the same directions.
  [[nodiscard]] Frame turned(std::uint32_t turn, Index dimensions) const {
    return {inputs(), dimensions, seed_, domain_, turn};
  }

  [[nodiscard]] Index inputs() const { return origin_.size(); }
  [[nodiscard]] Index dimensions() const { return basis_.rows(); }  // s
  [[nodiscard]] std::uint32_t turn() const { return turn_; }
  // The box that coordinates lie in: one pair of ends for all.
  [[nodiscard]] const Box& box() const { return box_; }
  // What the oracle's inputs may be.
  [[nodiscard]] const Box& domain() const { return domain_; }
  [[nodiscard]] const Vector& origin() const { return origin_; }    // x0
  [[nodiscard]] const Matrix& basis() const { return basis_; }      // s x d: B_0, ..., B_{s-1}
  [[nodiscard]] Eigen::RowVectorXd direction(Index i) const;        // B_i
  [[nodiscard]] Matrix directions(Index first, Index count) const;  // B_first, ...: count x d

  // The places queried, whichever turn the queries are of, and however many dimensions they have: n x d,
  // in the coordinates of box(). Throws DataError where a direction is none of this frame's.
  [[nodiscard]] RowMatrix points(const Queries& queries) const;
  // The same as the oracle's inputs: n x d.
  [[nodiscard]] RowMatrix inputs_at(const Queries& queries) const { return to_inputs(points(queries)); }
  // From coordinates of box() to the oracle's inputs, and back: n x d.
  [[nodiscard]] RowMatrix to_inputs(RowMatrix z) const;
  [[nodiscard]] RowMatrix from_inputs(RowMatrix x) const;
  // A network in coordinates of box() as one of the oracle's inputs.
  [[nodiscard]] Network on_inputs(Network network) const;
  // Those at coordinates u of this turn's subspace: n x d.
  [[nodiscard]] RowMatrix points_within(const RowMatrix& u) const;
  // The largest t with x0 + B^T u + t * along still in the box; infinity where there is none. along: d.
  [[nodiscard]] double reach(const Vector& u, const Vector& along) const;
  // The same from an input x along v, both d.
  [[nodiscard]] double reach_from(const Vector& x, const Vector& v) const;
  // The same along the subspace's own direction v: s.
  [[nodiscard]] double reach_within(const Vector& u, const Vector& v) const;

 private:
  Box domain_, box_;
  std::uint64_t seed_;
  std::uint32_t turn_;
  Vector origin_;
  Matrix basis_;
  std::vector<double> cosine_;       // cos(pi j / 2d), j < 4d
  std::vector<double> sign_;         // eps_n
  std::vector<std::int64_t> order_;  // k_i
};

}  // namespace exhume
