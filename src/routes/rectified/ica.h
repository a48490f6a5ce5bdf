// Independent component analysis: FastICA with symmetric decorrelation.
//
// Given whitened samples B (n x k: mean 0, covariance I) of B = S Q^T with independent columns of S and Q
// orthogonal, finds Q up to order and signs as the fixed point of
//
//     q_i <- E[ b g(q_i.b) ] - E[ g'(q_i.b) ] q_i,      Q <- Q (Q^T Q)^(-1/2)
//
// with g = tanh (robust) or g = u^3 (kurtosis). Hyvarinen, IEEE Trans. Neural Networks 10 (1999). O(n k^2)
// an iteration.
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

enum class Contrast { kTanh, kKurtosis };

struct IcaOptions {
  Contrast contrast = Contrast::kTanh;
  std::uint64_t seed = 0;
  int max_iterations = 300;
  double tolerance = 1e-10;  // stop when no component turns by more: 1 - |cos|
};

struct Ica {
  Matrix Q;  // k x k, orthogonal; component i is B Q.col(i)
  bool converged = false;
  int iterations = 0;
};

// B must be whitened. Throws std::invalid_argument where it is empty.
[[nodiscard]] Ica fast_ica(const Matrix& B, const IcaOptions& options, const Control& control);

}  // namespace exhume
