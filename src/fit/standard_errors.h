// Standard errors of every weight, from the curvature of the fit.
//
// With independent noise of variance sigma^2 on every output, the least-squares fit has covariance sigma^2
// (J^T J)^-1, J the Jacobian of the signed network: the Cramer-Rao limit. It is computed in the standardised
// coordinates of the fit and carried by the delta method to the user's coordinates and unit rows of W.
// Noise that is shared between outputs is made independent first, by mixing them: y' = Q y.
//
// The same matrix says how far the fitted outputs are off: at x, var f_o(x) = sigma^2 g^T (J^T J)^-1 g with g
// the gradient of f_o at x (the leverage of that entry).
#pragma once

#include "fit/polish.h"
#include "moments/standardise.h"

namespace exhume {

struct ErrorEstimate {
  Network errors;  // same shapes as the network, an entry is a standard error
  double largest = 0;
  // Of J / sqrt(rows) with units of unit norm: how well the weights are determined.
  double smallest_singular = 0;
};

// Dense: needs k (d+1) unknowns at most PolishOptions::dense_limit.
class Curvature {
 public:
  // `model` in signed form, at the optimum on `samples`.
  Curvature(const Form& model, const SampleSource& samples, const Control& control);

  // The samples being standardised by `coordinates` and leaving residuals of variance `variance` in every
  // output, the errors of the network in the user's coordinates with unit rows of W, in the same order of
  // units. `unmix` (m x m) takes the model's outputs to the user's, up to a constant: y = unmix y'.
  [[nodiscard]] ErrorEstimate errors(double variance, const Standardisation& coordinates,
                                     const Matrix& unmix) const;

  // The variance of the fitted outputs at every row of x, for noise of variance 1: rows x m.
  [[nodiscard]] Matrix of_values(const Eigen::Ref<const RowMatrix>& x) const;

 private:
  // How C's entry (feature, o) follows V, times dV.
  [[nodiscard]] Vector response_to_V(Index feature, Index o) const;

  Form model_;
  Index rows_;
  Matrix covariance_V_;  // of vec(V), P x P with P = k (d+1), for noise of variance 1
  Matrix FF_inverse_;    // q x q
  Matrix response_;      // q x P: how C follows V, before the factor C_j
};

// The errors where y' = D (y - nu) is the standardisation's own.
[[nodiscard]] ErrorEstimate standard_errors(const Form& model, const SampleSource& samples,
                                            double variance, const Standardisation& coordinates,
                                            const Control& control);

}  // namespace exhume
