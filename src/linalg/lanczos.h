// The ends of the spectrum of a symmetric operator that is known only by its products.
//
// Lanczos with full reorthogonalisation: after s products, the extreme eigenvalues of the s x s tridiagonal
// matrix T = Q^T H Q lie inside the spectrum and close in on its ends,
//
//     theta_min >= lambda_min,     theta_max <= lambda_max.
//
// Memory n x steps. The same bits every time.
//
// Not Spectra's SymEigsSolver: it gives no value for a pair that has not converged, and here the bound is
// wanted with whatever products were allowed (kernel of 1,500 rows, smallest end, 100 products: 1.3% above
// lambda_min here, nothing there). At equal accuracy it takes as many products or more (K^-1 of that kernel
// 13 and 13, its largest end 6 and 7), and the size of its basis is one more choice for every operator.
#pragma once

#include <functional>

#include "exhume/types.h"

namespace exhume {

struct LanczosOptions {
  int max_steps = 60;
  double tolerance = 1e-8;  // stop when the wanted end moved by less than this share in three steps running
  enum class End { kLargest, kSmallest } end = End::kLargest;
};

struct LanczosResult {
  double smallest = 0, largest = 0;  // Ritz values
  Vector vector;                     // Ritz vector of the wanted end, unit norm
  double residual = 0;               // ||H v - theta v|| of that pair: an eigenvalue lies within it of theta
  int steps = 0;
  bool converged = false;
};

// `product(in, out)` writes H in to out (both of size n). `start` must not be zero.
[[nodiscard]] LanczosResult lanczos(const std::function<void(const Vector&, Vector&)>& product,
                                    const Vector& start, const LanczosOptions& options = {});

}  // namespace exhume
