// Minimises a smooth function of few variables to an approximate local minimum of second order:
// gradient ~ 0 and Hessian without negative curvature (Definition 1 of paper threshold).
//
// Trust region with the exact Hessian H: each step minimises g.s + s.H s/2 over |s| <= radius through the
// eigenvectors of H, so negative curvature is followed and saddles are left. O(n^3) an iteration.
#pragma once

#include <functional>

#include "exhume/types.h"

namespace exhume {

struct SecondOrderModel {
  double value = 0;
  Vector gradient;
  Matrix hessian;
};
using SmoothFunction = std::function<SecondOrderModel(const Vector&)>;

struct TrustRegionOptions {
  double radius = 0.3;       // first; never above 10 times this
  double tolerance = 1e-12;  // of the gradient, relative to its norm at the start
  int max_iterations = 300;
};

struct LocalMinimum {
  Vector at;
  double value = 0;
  double gradient_norm = 0;
  double least_curvature = 0;  // smallest eigenvalue of the Hessian
  int iterations = 0;
  bool converged = false;
};
[[nodiscard]] LocalMinimum minimise(const SmoothFunction& f, Vector start,
                                    const TrustRegionOptions& options = {});

}  // namespace exhume
