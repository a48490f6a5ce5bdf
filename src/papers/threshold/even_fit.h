// A function of even units by least squares, and the rotation of the units that it still asks for.
//
//     f(x) ~ c + sum_i q_i(z_i) + sum_{i<j} c_ij g_i(z_i) g_j(z_j) + c'_ij He_2(z_i) He_2(z_j)
//
//     z = V^T x,     V: d x k, orthonormal columns
//
// q_i is even: a combination of He_2, He_4 and hinges max(|z| - s, 0); g_i is the q_i of the step before, at
// first of a fit without products. That is enough for any even u under a P of degree two: the mean of f given
// z_i is a multiple of u(z_i) up to a constant, so g_i ~ u. A step of Gauss-Newton then regresses f on the
// functions above together with the directions d/dA f of V <- V + V A + U B, A skew, U the complement of V.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

struct EvenFit {
  Matrix V;           // d x k, orthonormal columns
  Matrix units;       // coefficients of g_i, one column per unit; empty before the first step
  double misfit = 0;  // mean squared rest before the step, over the variance of f
  double moved = 0;   // largest entry of A and B
};

// One step from at.V (made orthonormal first) and at.units. O(n q^2) for q = 1 + 8k + 3k(k-1)/2 + k(d-k).
[[nodiscard]] EvenFit even_fit_step(const SampleSource& samples, const EvenFit& from, const Control& control);

}  // namespace exhume
