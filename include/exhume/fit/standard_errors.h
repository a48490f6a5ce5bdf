// Standard errors of every weight, from the curvature of the fit.
//
// With independent noise of variance sigma^2 on every output, the least-squares fit has covariance sigma^2
// (J^T J)^-1, J the Jacobian of the signed network: the Cramer-Rao limit. It is computed in the standardised
// coordinates of the fit and carried by the delta method to the user's coordinates and unit rows of W.
#pragma once

#include "exhume/fit/polish.h"
#include "exhume/moments/standardise.h"

namespace exhume {

struct ErrorEstimate {
  Network errors;  // same shapes as the network, an entry is a standard error
  double largest = 0;
  // Of J / sqrt(rows) with units of unit norm: how well the weights are determined.
  double smallest_singular = 0;
};

// `model` in signed form, at the optimum on `samples` (standardised by `coordinates`), which leaves
// residuals of variance `variance` in every output. The errors are those of
// coordinates.to_user(to_network(model)) with unit rows of W, in the same order of units. Dense: needs k
// (d+1) unknowns at most PolishOptions::dense_limit.
[[nodiscard]] ErrorEstimate standard_errors(const SeparableModel& model, const SampleSource& samples,
                                            double variance, const Standardisation& coordinates,
                                            const Control& control);

}  // namespace exhume
