// The Cholesky factor of a large symmetric matrix, in its own memory, by several threads.
//
//   K = L L^T        K: n x n, only its lower triangle is read; L takes its place
//
// Right-looking and blocked: the panel of 256 columns is factored, then every tile of the rest is updated by
// one thread with one matrix product. Tiles are the same whatever the threads, and each receives its updates
// in the same order, so the bits of L do not depend on their number. n^3 / 3 operations, no workspace.
#pragma once

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

// Factors the lower triangle of `k` in place; the strict upper triangle is not touched. Returns the
// first column whose pivot was not positive (the matrix is not numerically positive definite; `k` is
// then spoilt), or -1.
[[nodiscard]] Index cholesky_in_place(Eigen::Ref<Matrix> k, const Control& control = {});

// b <- K^-1 b, from the lower triangle that cholesky_in_place left. b: n x m. 2 n^2 m operations.
void cholesky_solve(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Matrix> b);

}  // namespace exhume
