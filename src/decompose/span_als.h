// Vectors of a span of z_i z_i^T by alternating least squares (paper symmetric, Section 4).
//
// Draw 10 k random members M_s of the span, stack them to a k x k x 10k tensor and find its CP decomposition
// of rank k,
//
//     M_s ~ sum_i g_si  p_i q_i^T,
//
// by alternating least squares from random starts; keep the best of 10. The third mode has only k dimensions,
// so the tensor is compressed there first by a QR of the random coefficients: the iterates are the same, at
// O(k^4) a sweep instead of O(10 k^4). z_i is the leading direction of p_i and q_i together.
#pragma once

#include <cstdint>

#include "exhume/types.h"

namespace exhume {

struct SpanAlsOptions {
  std::uint64_t seed = 0;
  int members_per_unit = 10;
  int restarts = 10;
  int max_sweeps = 500;
  double tolerance = 1e-10;  // stop when the squared misfit improves by less than this share of the tensor
};

// `basis`: p x k. Returns k x k, unit columns.
[[nodiscard]] Matrix span_als_vectors(const Matrix& basis, const SpanAlsOptions& options = {});

}  // namespace exhume
