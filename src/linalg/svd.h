// The singular value decomposition, compiled once: M = U diag(values) V^T, values decreasing, thin.
#pragma once

#include "exhume/types.h"

namespace exhume {

struct Svd {
  Matrix U, V;
  Vector values;
};
[[nodiscard]] Svd thin_svd(const Matrix& M);
// Largest singular value; 0 for an empty matrix.
[[nodiscard]] double spectral_norm(const Matrix& M);

}  // namespace exhume
