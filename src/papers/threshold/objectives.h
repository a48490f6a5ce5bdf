// The paper's objectives for step 1: their minima are the lowest layer, inverted (paper threshold, Section
// 2.1 and B.4; Ge, Lee, Ma 2017).
//
//     M = E[f He_2(x)] = sum_i c_i u_2 w_i w_i^T          d x d
//     T = E[f He_4(x)] = sum_i c_i u_4 w_i^(x)4           d x d x d x d, in the linear model
//
// One by one, s = sgn u_4:
//
//     G(z) = -s T(z,z,z,z) + lambda (z^T M z - beta)^2
//
// whose local minima are, up to length, the z_i with z_i.w_j = 0 for j != i: the columns of W^-1 (the paper
// divides T by sqrt(24) and M by sqrt(2), a matter of scale). Simultaneously:
//
//     G(Z) = s sum_{j != l} T(z_j,z_j,z_l,z_l) - gamma s sum_j T(z_j,z_j,z_j,z_j)
//            + lambda sum_j (z_j^T M z_j - beta)^2
//
// with its minimum at the same z_i, all at once; W = Z^-T row by row, normalised. Both only need the two
// moments, streamed once, never the samples: a gradient costs O(d^4), whatever n is. Both ask for c_i u_2 of
// one sign and k <= d independent directions; k < d is first brought to the k leading eigenvectors of M.
// Everything is done in the coordinates where M is +-I there, in which the z_i are orthonormal and beta = 1.
//
// Erratum. The paper's psi(v, w, x) mixes normalisations; what has the expectation T(v,v,w,w) is
//
//     (v.x)^2 (w.x)^2 - |w|^2 (v.x)^2 - |v|^2 (w.x)^2 - 4 (v.w)(v.x)(w.x) + |v|^2 |w|^2 + 2 (v.w)^2
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"
#include "moments/moments.h"
#include "papers/threshold/trust_region.h"

namespace exhume {

struct ObjectiveOptions {
  std::uint64_t seed = 0;
  double lambda = 4;    // times the largest |T(z,z,z,z)| met on the sphere, in the coordinates where M is I
  double gamma = 0.01;  // as Theorem 12 asks
  int starts_per_unit = 20;  // random starts of the one-by-one search
  double same = 0.2;         // radians: two minima this close are one
};

// T is p x p in the coordinates of linalg/symmetric_matrix.h, as HermiteMoments gives it:
// T(v,v,w,w) = k(v)^T T k(w), k(v) = coordinates of v v^T.
struct LandscapeMoments {
  Matrix M;         // d x d
  Matrix T;         // p x p
  double sign = 1;  // s
};

// Value, gradient and Hessian of the objectives above, M as given. Z is stacked column after column.
[[nodiscard]] SecondOrderModel one_by_one_model(const LandscapeMoments& moments, double lambda, double beta,
                                                const Vector& z);
[[nodiscard]] SecondOrderModel simultaneous_model(const LandscapeMoments& moments, double lambda,
                                                  double gamma, double beta, Index count,
                                                  const Vector& stacked);

// Directions (d x found, unit columns, sign open) from the moments of order 2 (p x 1) and 4 (p x p), by
// either objective.
[[nodiscard]] Matrix one_by_one(const Matrix& order2, const Matrix& order4, Index k,
                                const ObjectiveOptions& options = {});
[[nodiscard]] Matrix simultaneous(const Matrix& order2, const Matrix& order4, Index k,
                                  const ObjectiveOptions& options = {});

// E[y He_2] (p x 1) and E[y He_4] (p x p) of one output, each of y less its least-squares polynomial of
// degree 1 and 3: the same expectations, far less noise.
struct ResidualisedMoments {
  Matrix order2, order4;
};
[[nodiscard]] ResidualisedMoments residualised_moments(const SamplePtr& standard, const Control& control);

}  // namespace exhume
