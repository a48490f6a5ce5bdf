// Symmetric inputs: a network from the pure-neuron detector (paper symmetric, made practical).
//
//     y = A s(Wx) + noise,   x and -x equally likely,   W: k x d, A: m x k,   k <= min(d, m), no biases
//
//   1  inputs whitened by E[xx^T] and reduced to the k-dimensional row space of W, which is that of E[yx^T];
//      outputs reduced to the column space of A; everything after costs as if d = m = k
//   2  outputs whitened by the covariance of what a linear fit leaves: the condition of A matters little then
//   3  Q, the linear part of y, by regression on x beside even functions of x. By symmetry they are
//      uncorrelated with x, so the expectation stays and the variance collapses: first 1 and vech(xx^T),
//      then, with units in hand, |v_i.x|. Without noise the error of the detector is that of Q
//      (moments/detector.h)
//   4  T from moments over all rows (the printed sample halves are in routes/symmetric_printed.h), its null
//      space, the power method on it: z_i, the rows of A^-1; then Algorithm 1: v_i = 2 Q^T z_i
//   5  steps 3 and 4 again with the units found. Without noise the error falls by a factor of ten or more a
//      round, since the units themselves regress the even part out: moments alone converge to rounding
//
// Assumes full-rank A, W and E[xx^T], and pairs of units that disagree in sign on some inputs (N of full
// rank, Theorem 4). Cost: two passes O(n (d+m)^2), then moments/cross_moments.h at d = m = k, and O(n k^2)
// for every refinement; one SVD of size k^2/2. What comes out is a start for the polish (fit/fit.h), which
// makes it exact.
#pragma once

#include "exhume/papers/symmetric.h"
#include "moments/standardise.h"
#include "routes/depth2.h"

namespace exhume {

// The network found as a start for fit_units, in standardised coordinates.
[[nodiscard]] SpectralStart symmetric_start(const SymmetricNetwork& found,
                                            const Standardisation& coordinates);

}  // namespace exhume
