// Recovery from structure of the lowest layer alone: no threshold, or no linear terms (paper threshold,
// Section 4 and D).
//
// Theorem 8. 0/1 weights with disjoint supports, u(a) = exp(rho (a - t)): E[f x_i x_j] is large where i and j
// belong to the same unit. Any function of the units' sums keeps that, so where outputs are positive log f
// stands in for f, whose tails are heavy; less its linear part. Correlation graph, threshold from the largest
// gap, components; then every coordinate goes to the component that it correlates with most, until nothing
// moves.
//
// Theorem 9. u(a) = exp(a), disjoint supports, positive coefficients:
//
//     g(z) = exp(-|z|^2/2) E[f exp(z.x)] = sum_S c_S prod_{p in S} exp(1/2 + z_p)
//
// Erratum: g - lambda |z|_1 - gamma |z|^2 as printed has no maximum, since g
// grows exponentially along every support; the quadratic term is taken as what it multiplies, the constraint
// |z| = tau. There local maxima have equal weights on one support and zero elsewhere (Lemmas 21 and 22). f is
// taken to a power below 1, for its tails. Ascent from every coordinate axis by
//
//     z <- tau normalise(max(grad log g - lambda, 0)),   grad log g = mean of x - z under weights f exp(z.x)
//
// Theorem 10. Even u, orthonormal weights: E[f h_4(z.x)] on the sphere, in the coordinates of W, is
//
//     sum alpha_i z_i^4 + sum gamma_ij z_i^2 z_j^2
//
// Erratum: for u(a) = a^2 (u_4 = 0) all alpha_i vanish and the w_i are minima, not maxima, where products
// have positive coefficients; and without products order 4 shows nothing at all, only order 2, where its
// eigenvalues differ. So maxima, minima and eigenvectors are candidates, residualised. Each is refined by
// Gauss-Newton over rotations with a fit of f by even functions of single directions and products of two; the
// one that leaves least is kept. Exact where u is a polynomial of degree 4 or |a| and P has degree two.
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

struct Groups {
  // Coordinates, each list ascending, lists by their first; coordinates that belong nowhere are missing.
  std::vector<std::vector<Index>> groups;
  double gap = 0;  // largest gap of the correlations over their range
  // Least correlation within a group less the largest across, over the distance of their means. Above 0 every
  // group is a clique and nothing else is connected, as the theorems have it; otherwise the groups are a
  // guess.
  double contrast = 0;
};
// Theorem 8: from E[f x_i x_j]. O(n d^2).
[[nodiscard]] Groups correlation_groups(const SamplePtr& samples, const Control& control = {});
// The same from the matrix of correlations, d x d; the diagonal is not looked at.
[[nodiscard]] Groups groups_of(const Matrix& correlations);

struct ExponentialOptions {
  double tau = 1;       // |z|; above 1.1 for maxima on single supports, at 1 the gradient is least noisy
  double lambda = 0.1;  // of the largest entry of the gradient
  double power = 0.25;  // of f
  // With one step the gradients at tau e_i, i = 1..d, are taken as a matrix of correlations, whose groups are
  // the supports: far less noisy than to climb on, which more steps do.
  int steps = 1;
};
// Theorem 9. Throws DataError naming a row with a negative output. O(n d) a step and start.
[[nodiscard]] Groups exponential_groups(const SamplePtr& samples, const ExponentialOptions& options = {},
                                        const Control& control = {});

struct EvenDirections {
  Matrix directions;        // d x found, unit columns, sign open
  double sign = 0;          // +1: maxima of the correlation, -1: minima, 0: eigenvectors of order 2
  double worst_cosine = 0;  // largest |cos| between two of them before refinement: 0 for orthonormal weights
  double misfit = 0;        // what the fit leaves, over the variance of f; near 1 where nothing was found
};
// Theorem 10, k <= d units, inputs standard Gaussian. O(n d^4). No columns where fewer than k were found.
[[nodiscard]] EvenDirections even_directions(const SamplePtr& samples, Index k, std::uint64_t seed = 0,
                                             const Control& control = {});
// The same from the moment of order 4 (p x p, coordinates of linalg/symmetric_matrix.h), without the fit.
[[nodiscard]] EvenDirections even_directions(const Matrix& order4, Index d, Index k, std::uint64_t seed = 0);

}  // namespace exhume
