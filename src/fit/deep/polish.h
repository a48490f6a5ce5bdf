// The polish of all layers together: from a rough deep form to the last bit.
//
//     minimise  sum_rows | y - C^T F(x; V_1, ..., V_D) |^2
//
// As for one hidden layer (fit/polish.h): C is always the least-squares solution for the V_l, and the V_l are
// searched by Levenberg-Marquardt with Kaufman's Jacobian. For output o let J_o be the derivatives of f_o by
// all entries of the V_l with C fixed (rows x p), R_o its residuals. Then
//
//     H = sum_o ( J_o^T J_o - K_o^T (F^T F)^-1 K_o ),   K_o = F^T J_o,      gradient = sum_o J_o^T R_o
//
// The scale of a row of V_l is free. Rows are kept at unit norm, and a step along a row costs as much as one
// across it, so that H is as regular as the network is determined.
//
// One step costs rows m p^2. Residuals are recomputed from the rows and C is refined with them, so the end is
// exact although normal equations are used inside.
#pragma once

#include <limits>

#include "exhume/control.h"
#include "fit/deep/data.h"
#include "fit/deep/form.h"

namespace exhume {

struct DeepPolishOptions {
  int max_iterations = 60;
  double damping = 1e-3;           // first lambda of (H + lambda diag H) step = gradient
  double enough_relative = 1e-28;  // stop when mean squared residual / variance of y falls below
  double least_progress = 0.02;    // stop when `patience` steps in a row improve less than this share
  int patience = 6;
  // A fit that is not below `hopeful` after `hope` steps, nor falls tenfold in as many, is given up; 0: never.
  int hope = 0;
  double hopeful = 1e-16;
  // Nor is one above `far` pursued once two steps in a row have not halved it.
  double far = std::numeric_limits<double>::infinity();
};

// Those of a fit that ends where noise begins: the gains that count are small.
[[nodiscard]] DeepPolishOptions noisy_polish();

struct DeepPolished {
  DeepForm form;
  double relative_mse = 0;  // mean squared residual / variance of y, over rows and outputs
  int iterations = 0;
  bool in_time = true;  // false: the deadline came first
};

[[nodiscard]] DeepPolished polish(const DeepForm& start, const DeepData& data,
                                  const DeepPolishOptions& options, const Control& control);

// Solves for C with all V_l fixed; returns the relative mean squared residual.
double fit_linear_part(DeepForm& form, const DeepData& data, const Control& control);

// Mean squared residual / variance of y, as the form stands.
[[nodiscard]] double relative_error(const DeepForm& form, const DeepData& data, const Control& control);

// H / rows at the form, rows of unit norm, C solved: what the rows say of the V_l where C is free (p x p, both
// triangles).
[[nodiscard]] Matrix normal_matrix(const DeepForm& form, const DeepData& data, const Control& control);

// What every unit of layer l is worth: the share of the variance that its linearised removal would leave,
// slope of f along |q_j| times |q_j|, projected off all features but |q_j| itself.
[[nodiscard]] Vector unit_worth(const DeepForm& form, std::size_t l, const DeepData& data,
                                const Control& control);

}  // namespace exhume
