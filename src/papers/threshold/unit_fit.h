// One unit, fitted on the rows where it is alone (alone.h): from an angle of 0.1 to the last digits.
//
// Kink (ReLU under any smooth upper network). f = c_0 + q(w.x - t) where the unit is active, q an unknown
// smooth function with q(0) = 0. With q a polynomial p of degree r, Gauss-Newton over its coefficients and w:
// the linear least squares
//
//     y ~ sum_s beta_s a^s + p'(a) (x_perp . v),   a = w.x - t,      then w <- normalise(w + v)
//
// and t moves by the root of p(a) = c_0; where activity is exact, t is held to the gap of w.x between the
// rows where the unit is off and those where it is on. Exact where q is a polynomial of degree r (P of degree
// r in every unit), without any knowledge of P.
//
// Step (sign units, labels). Inside the band |w.x - t| <= h the response is that of the true plane w* ~ w +
// v, t* = t + dt, and given x_perp its difference from the plane at hand has, over the band, the mean
//
//     E[ s - 1[w.x > t] | x_perp ] = (v.x_perp - dt)/(2h),     s = (y - low)/(high - low) = 1[w*.x > t*]
//
// So one linear regression gives the next direction and threshold: the deterministic direction that stands in
// for the random perturbations of RefineEstimate. h shrinks with the steps. Labels turned around at random
// with probability e leave low = e, high = 1 - e and change nothing else; the error is about
// sqrt(2 h e / (phi(t) n)).
//
// Labels without noise end with the maximum margin: the (v, dt) with the largest least value of
// +-(w.x + v.x_perp - t - dt) over the rows, by Newton on a soft minimum of growing sharpness (convex).
#pragma once

#include "exhume/papers/threshold.h"
#include "exhume/types.h"
#include "papers/threshold/alone.h"

namespace exhume {

struct KinkOptions {
  int degree = 5;      // r
  double guard = 0.3;  // where activity is not exact, rows with w.x > t + guard are active
  int steps = 6;
};
[[nodiscard]] UnitFit fit_kink(const AloneRows& rows, const Vector& w, double t, const RestLevel& rest,
                               const KinkOptions& options = {});

struct StepOptions {
  double band = 0.4;           // first h
  bool maximum_margin = true;  // end with the maximum margin where the labels are separable
  int steps = 16;
};
[[nodiscard]] UnitFit fit_step(const AloneRows& rows, const Vector& w, double t,
                               const StepOptions& options = {});

// Orthonormal basis of the complement of w: d x (d - 1).
[[nodiscard]] Matrix complement(const Vector& w);

// The largest margin of labels s_i = +-1 with s_i (g_i + X_i.v - c) >= margin; X: rows x q.
struct MaximumMargin {
  Vector v;
  double c = 0;
  double margin = 0;  // negative: not separable
};
[[nodiscard]] MaximumMargin maximum_margin(const Matrix& X, const Vector& g, const Vector& labels);

}  // namespace exhume
