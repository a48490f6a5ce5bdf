// Lattices: the points B z, z integer, of a basis; a basis of short vectors, and the point next to a target.
//
//     B = Q R,  R upper triangular        B: D x k, columns independent
//
// A basis is reduced (Lenstra, Lenstra, Lovasz 1982) where |R_ij| <= |R_ii| / 2 for i < j and 0.99 R_ii^2 <=
// R_i,i+1^2 + R_i+1,i+1^2: its vectors are short, and no R_ii is much smaller than the next ones. Two facts
// about any basis, the better the more it is reduced:
//
//     every point of the lattice but 0 is at least min_i |R_ii| long;
//     a target closer than min_i |R_ii| / 2 to a point is led to it by rounding, column of R by column,
//     and every other point is further away.
//
// Columns change places and are subtracted from each other; R follows by rotations, so that a change costs k
// operations, and is made anew from B until nothing changes. B's numbers must be far below 1 / epsilon.
#pragma once

#include "exhume/types.h"

namespace exhume {

class Lattice {
 public:
  explicit Lattice(Matrix basis);  // reduces it

  [[nodiscard]] const Matrix& basis() const { return basis_; }
  // A lower bound of the length of every point but 0.
  [[nodiscard]] double least_length() const;
  // The point that rounding leads to from `target`.
  [[nodiscard]] Vector point_near(const Vector& target) const;

 private:
  void factor();  // R from B
  bool reduce();  // B and R; whether B changed
  void subtract(Index from, Index column, double times);
  void exchange(Index right);

  Matrix basis_, Q_, R_;
};

}  // namespace exhume
