// Layers that are known up to signs, as pieces: affine in u where no unit changes its side.
//
//     P_0 = (u, 1),   Q_l = P_{l-1} V_l^T,   P_l = (|Q_l|, P_{l-1})                    (fit/deep/form.h)
//
// With sides sigma in {-1, 1}^K of all K units, lower layers first, |q| = sigma q everywhere, so that
//
//     q = G u + c,     G: K x s
#pragma once

#include <vector>

#include "exhume/types.h"

namespace exhume {

struct Piece {
  Vector sides;  // sigma, K
  Matrix G;      // K x s
  Vector c;      // K
};

class SignFreeLayers {
 public:
  SignFreeLayers(Index inputs, std::vector<Matrix> V);

  [[nodiscard]] Index inputs() const { return inputs_; }
  [[nodiscard]] Index units() const { return units_; }  // K
  [[nodiscard]] const std::vector<Matrix>& V() const { return V_; }
  [[nodiscard]] Piece with_sides(const Vector& sides) const;
  [[nodiscard]] Vector sides_at(const Vector& u) const;
  [[nodiscard]] Piece at(const Vector& u) const { return with_sides(sides_at(u)); }
  // q at u, whatever the sides: K.
  [[nodiscard]] Vector values(const Vector& u) const;
  // z = row.P at u, and its slope there: a row on (|Q_l|, ..., |Q_1|, u, 1).
  struct Value {
    double z = 0;
    Vector slope;
  };
  [[nodiscard]] Value value(const Vector& row, const Vector& u) const;
  // The row whose parts on |q|, lower layers first, are U, and on (u, 1) are r and beta.
  [[nodiscard]] Vector row(const Vector& U, const Vector& r, double beta) const;
  // The parts U of a row.
  [[nodiscard]] Vector parts(const Vector& row) const;

 private:
  Index inputs_, units_ = 0;
  std::vector<Matrix> V_;
};

}  // namespace exhume
