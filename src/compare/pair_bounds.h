// Proved bounds of the difference of two networks with matched units over a box.
//
//     z_l = sum_s M_{l,s} h_s + b_l,   dz_l = sum_s (M'_{l,s} dh_s + (M'_{l,s} - M_{l,s}) h_s) + b'_l - b_l
//
// f has M, g has M'; unit i of g belongs to unit i of f (one of them may be a unit of zeros). z, h, dz and dh
// are affine in x and in noises of the units that switch within the box:
//
//     z = c + G e + E e',   |e| <= 1      e: d inputs, scaled to the box, and one noise per unsettled unit
//     dz = c + G e + H e''                e'': one noise per unit whose difference is not linear in the box
//
//     max(z, 0) - lambda z in [0, max(-lambda l, (1 - lambda) u)]       for l <= z <= u, lambda in [0, 1]
//     max(z + dz, 0) - max(z, 0) in [min(dz, 0), max(dz, 0)]            and less where one is settled
//
// Other units than ReLUs (unit_function.h), s <= sigma' <= t over the ranges of z and z + dz:
//
//     sigma(z) - s z in [sigma(l) - s l, sigma(u) - s u]        and the same downwards with t
//     |sigma(z + dz) - sigma(z) - (s + t)/2 dz| <= (t - s)/2 |dz|
//
// Ranges of z are also bounded by intervals of the features alone, and the lesser bound counts: a unit that
// reads ReLUs with negative weights only, and has no positive bias, is off.
//
// Rounding is outward: every form carries a radius which bounds all rounding errors so far, by gamma_n =
// n u / (1 - n u) times the sums of absolute values (Higham, Accuracy and Stability, Section 3.1), and the
// slack of the weights. What is bounded is the difference of the two functions in exact arithmetic.
// Cost: about (2 k^2) (3 d + noises) operations per layer.
#pragma once

#include <optional>
#include <vector>

#include "compare/blocks.h"
#include "compare/unit_function.h"

namespace exhume {

struct BoxBound {
  Vector low, high;  // of g_o - f_o over the box
  Vector influence;  // how much of the looseness splitting each input would remove, d
  Vector corner;     // where the linear part of the worst output is largest
  double upper = 0;  // of |g - f|, all outputs
};

// Bounds of every hidden unit of one network over a box, in the order of its layers.
struct UnitRanges {
  std::vector<Vector> low, high;  // of z_l
};

class PairBounds {
 public:
  // Same inputs, outputs, widths and activation.
  PairBounds(BlockNetwork f, BlockNetwork g);

  [[nodiscard]] BoxBound bound(const Vector& low, const Vector& high) const;
  [[nodiscard]] const BlockNetwork& f() const { return f_; }
  [[nodiscard]] const BlockNetwork& g() const { return g_; }
  // Floating-point operations of one bound where no unit is settled.
  [[nodiscard]] double cost() const;

 private:
  struct Change {  // of one layer
    std::vector<Matrix> M, M_size, other_size, slack, f_slack;
    Vector b, b_slack;
    std::vector<bool> g_empty;  // units that g has not
    // Parts of the weights above and below zero.
    std::vector<Matrix> f_above, f_below, g_above, g_below;
  };
  BlockNetwork f_, g_;
  std::vector<Change> change_;
  std::optional<UnitFunction> unit_;  // empty: max(z, 0)
};

[[nodiscard]] UnitRanges unit_ranges(const BlockNetwork& network, const Vector& low, const Vector& high);

}  // namespace exhume
