// Signs of rough units from noisy outputs, by projection residuals (paper rectified, Algorithm 6), and the
// fit that follows (Section 5.2).
//
// For rough units v_j with open sign, the functions f(v_j.x), f(-v_j.x), all j, and the constant span a space
// that holds the signal. Leaving f(-v_i.x) out costs a_i+ in residual, leaving f(v_i.x) out costs a_i-:
//
//     a_i+ = |Y - P_{all but f(-v_i)} Y|^2
//     a_i- = |Y - P_{all but f(v_i)} Y|^2        v_i has the right sign where a_i+ <= a_i-
//
// All 2k residuals come from one Gram matrix of the 2k + 1 functions: O(n k (k + m)) once. Noise of any
// distribution with mean zero. For a ReLU, f(z) - f(-z) = z, so more than d units without bias make the
// functions dependent and the signs undecidable here: their margins are 0.
#pragma once

#include <memory>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/rectified_network.h"

namespace exhume {

struct NoiseSigns {
  Vector signs;  // k, +-1
  // |a_i- - a_i+| over the variance of the noise: by chance, chi-squared with m degrees of freedom.
  Vector margins;
  double noise_variance = 0;  // residual of all 2k + 1 functions, mean over rows and outputs
};

// V: k x (d+1), rows (v, b).
[[nodiscard]] NoiseSigns recover_signs(const Matrix& V, const SampleSource& samples,
                                       const Rectifier& rectifier, const Control& control);

struct NoisyFit {
  Network network;
  NoiseSigns signs;
  Vector noise_variance;  // of every output
  double relative_mse = 1;
};

// Signs, A and c by regression, and, with `polish`, least squares over all parameters with every output
// weighted by its own noise: the maximum-likelihood fit for normal noise.
[[nodiscard]] NoisyFit fit_noisy(const Matrix& V, const SamplePtr& samples, const Rectifier& rectifier,
                                 bool polish, const Control& control);

}  // namespace exhume
