// Outputs mixed so that their noise is independent, with variance 1.
//
//     y' = Q y,   Q S Q^T = I,   S the covariance of the noise (m x m)
//
// Least squares in y' is the maximum-likelihood fit where noise is shared between outputs. A model whose
// upper layer is C (q x m) has C Q^T there. Eigenvalues of S are taken to be at least 1e-24 of their mean:
// outputs without noise count for very much, not for ever.
#pragma once

#include "exhume/samples.h"

namespace exhume {

struct OutputMixing {
  Matrix Q = Matrix(), back = Matrix();  // m x m, inverse to each other
};
[[nodiscard]] OutputMixing unit_noise(const Matrix& covariance);

[[nodiscard]] SamplePtr mixed_outputs(const SamplePtr& samples, const OutputMixing& mixing);

}  // namespace exhume
