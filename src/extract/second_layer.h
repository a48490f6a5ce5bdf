// Units of a second layer from kinks, told apart by the directions of their jumps.
//
//     W_1^+T n_p = t_p D_p w,    -w.h_1(x_p) = b         for all kinks p of one unit; t_p unknown
//
// So (I - a_p a_p^T / |a_p|^2) D_p w = 0 with a_p the left side: w is the null vector of the sum of these.
#pragma once

#include <vector>

#include "extract/kink.h"

namespace exhume {

struct SecondUnit {
  Vector row;              // k + 1, on (h_1, 1), |w| = 1, up to sign; 0 where open
  std::vector<bool> open;  // of the k weights: units that were off at all its kinks

  [[nodiscard]] bool any_open() const;
};

// The first layer with its signs: on where V (x, 1) > 0.
class FirstUnits {
 public:
  explicit FirstUnits(Matrix V);

  [[nodiscard]] const Matrix& V() const { return V_; }
  [[nodiscard]] Index units() const { return V_.rows(); }
  [[nodiscard]] Vector values(const Vector& x) const;          // V (x, 1)
  [[nodiscard]] RowMatrix features(const RowMatrix& x) const;  // h_1
  // Coordinates of a normal in the planes; `left` is what they leave of it.
  [[nodiscard]] Vector coordinates(const Vector& normal, double& left) const;

 private:
  Matrix V_, inverse_;  // k x d: (W W^T)^-1 W
};

// Every unit that at least two kinks show and that agrees with most of them.
[[nodiscard]] std::vector<SecondUnit> second_units(const FirstUnits& first, const std::vector<Kink>& kinks);

// Does a known unit bend f at x?
[[nodiscard]] bool on_surface(const FirstUnits& first, const std::vector<SecondUnit>& units, const Vector& x,
                              double tolerance);

}  // namespace exhume
