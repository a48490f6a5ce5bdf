// Vectors of a span of z_i z_i^T by joint diagonalisation of a basis B_1..B_k.
//
// With Z the matrix whose rows are the z_i, B_j = Z^T D_j Z, so V = Z^-T makes every V B_j V^T diagonal.
// First an orthogonal V by Jacobi rotations (Cardoso and Souloumiac, 1996), which is all where the z_i are
// orthogonal, then V <- (I + E) V with E zero on the diagonal and chosen to first order for all pairs at once
// (FFDIAG: Ziehe, Laskov, Nolte and Mueller, 2004). O(k^4) a sweep.
#pragma once

#include "exhume/types.h"

namespace exhume {

struct JointDiagonalisationOptions {
  int jacobi_sweeps = 60;
  int max_sweeps = 300;
  double tolerance = 1e-13;  // stop when |E| falls below
};

// `basis`: p x k. Returns k x k, unit columns, the z_i.
[[nodiscard]] Matrix joint_diagonalisation_vectors(const Matrix& basis,
                                                   const JointDiagonalisationOptions& options = {});

}  // namespace exhume
