// The polish: from a rough start to the last bit, by separable nonlinear least squares.
//
//     minimise  sum_rows | y - C^T F(x; V) |^2,   F(x; V) = ( phi(v_1 . x~), ..., phi(v_k . x~), [x], 1 )
//
// x~ = (x, 1); V: k x (d+1), rows (w_j, b_j); C: q x m. The model is linear in C, so C is always the
// least-squares solution for V (variable projection) and only V is searched, by Levenberg-Marquardt with
// Kaufman's Jacobian. For unit j let G_j = phi'(v_j . x~) x~ (rows x (d+1)) and P the projection off the
// columns of F. Then for any number of outputs the normal matrix is
//
//     H_jl = (C_j . C_l)  G_j^T P G_l        ((d+1) x (d+1) blocks),        gradient_j = G_j^T (R C_j^T)
//
// so one Gram matrix of (G, F) serves all outputs. Above `dense_limit` unknowns H is never formed: products
// with the joint Gauss-Newton matrix cost O(n k (d + m)) and conjugate gradients solve.
//
// Sign-free form: phi = |.|, with the linear feature x. The sign of (w_j, b_j) does not matter,
// so a start need not know it, since max(z,0) = (z + |z|)/2. Signed form: phi = max(., 0)
// without it; statistically efficient.
//
// Accuracy. Residuals are always recomputed from the samples and C is refined with them, at most twice, so
// the accuracy is that of the problem (eps times the condition of the Jacobian), although normal equations
// are used inside.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/separable_model.h"

namespace exhume {

struct PolishOptions {
  int max_iterations = 60;
  double damping = 1e-2;           // first lambda of (H + lambda diag H) step = gradient
  double enough_relative = 4e-30;  // stop when mean squared residual / variance of y falls below
  double least_progress = 1e-4;    // stop when `patience` steps in a row improve less than this share
  int patience = 3;
  Index dense_limit = 3000;  // k (d+1) above which H is never formed
  Index block_rows = 0;      // rows a task; 0: two to four tasks, or 2,048 rows each
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

enum class PolishOutcome {
  kExact,      // reached enough_relative
  kConverged,  // no further progress
  kExhausted,  // max_iterations or the deadline came first
};

struct PolishSummary {
  SeparableModel model;
  PolishOutcome outcome = PolishOutcome::kExhausted;
  double relative_mse = 0;  // mean squared residual / variance of y, over rows and outputs
  int iterations = 0;
  std::vector<double> descent;  // relative_mse at the start and after every accepted step
};

// Polishes `start` (its C is recomputed) on the samples.
[[nodiscard]] PolishSummary polish(const SeparableModel& start, const SampleSource& samples,
                                   const PolishOptions& options, const Control& control);

// Solves for C with V fixed; returns the relative mean squared residual.
double fit_linear_part(SeparableModel& model, const SampleSource& samples, const PolishOptions& options,
                       const Control& control);

}  // namespace exhume
