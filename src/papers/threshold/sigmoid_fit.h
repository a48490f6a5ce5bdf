// A layer of sigmoids under a polynomial, refined from approximate directions.
//
//     f(x) ~ c_0 + sum_i c_i s_i + sum_{i<j} c_ij s_i s_j,     s_i = 1/(1 + exp(-(v_i.x - t_i)))
//
// A sigmoid is nowhere exactly off, so no row shows a unit alone and the paper's step 2 does not apply
// (Theorem 5 is for sign and ReLU). But at a high threshold products are small, and what lies above the layer
// is its linear part and its products of two up to a rest that can be measured. Levenberg-Marquardt over v,
// t and c together, from step 1. Exact where P has degree two in different units; otherwise the rest,
// `misfit`, says how far the directions can be trusted.
//
// Start: sides and thresholds from least squares on both sigmoids +-v_i.x - t of every direction, for the
// common t on a grid that leaves least.
//
// Unknowns q = k(d+1) + 1 + k + k(k-1)/2; a step costs n q^2. Any distribution of the rows will do; biased
// rows (biased.h) show more of the units than Gaussian ones.
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

struct SigmoidFitOptions {
  Index rows_per_unknown = 60;  // at most so many are used, or 20,000 rows where that is more
  int max_steps = 200;
};

struct SigmoidLayer {
  Matrix V;         // k x d, norms as fitted
  Vector t;         // k
  Vector linear;    // k: c_i
  Matrix products;  // k x k, upper triangle: c_ij
  double constant = 0;
  double misfit = 0;  // mean squared rest over the variance of f, rows of the fit
  int steps = 0;

  // s at every row of x, rows x k; the fit; its part that is not linear in s.
  [[nodiscard]] RowMatrix units(const Eigen::Ref<const RowMatrix>& x) const;
  [[nodiscard]] Vector evaluate(const Eigen::Ref<const RowMatrix>& x) const;
  [[nodiscard]] Vector nonlinear_part(const Eigen::Ref<const RowMatrix>& x) const;
};

// Directions: d x k unit columns, sign open; k >= 1. Throws DataError where there are fewer than two rows an
// unknown.
[[nodiscard]] SigmoidLayer fit_sigmoids(const SamplePtr& samples, const Matrix& directions,
                                        const SigmoidFitOptions& options, const Control& control);

}  // namespace exhume
