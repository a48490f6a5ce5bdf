// The polish: from a rough start to the last bit, by separable nonlinear least squares; any number of hidden
// layers.
//
//     minimise  sum_rows | y - C^T F(x; V_1, ..., V_D) |^2                                   (model/form.h)
//
// The form is linear in C, so C is always the least-squares solution for the V_l (variable projection) and
// only the V_l are searched, by Levenberg-Marquardt with Kaufman's Jacobian. For output o let J_o be the
// derivatives of f_o by all entries of the V_l with C fixed (rows x p), R_o its residuals. Then
//
//     H = sum_o ( J_o^T J_o - K_o^T (F^T F)^-1 K_o ),   K_o = F^T J_o,      gradient = sum_o J_o^T R_o
//
// at a cost of rows m p^2 per step. With one hidden layer J_o = (C_jo G_j)_j, G_j = phi'(v_j . x~) x~ the
// derivatives of unit j alone, x~ = (x, 1), and P the projection off the columns of F:
//
//     H_jl = (C_j . C_l)  G_j^T P G_l        ((d+1) x (d+1) blocks),        gradient_j = G_j^T (R C_j^T)
//
// so that one Gram matrix of (G, F) serves all outputs: rows p^2. Above `dense_limit` unknowns H is never
// formed: products with the joint Gauss-Newton matrix cost O(n k (d + m)) and conjugate gradients solve.
//
// The scale of a row of V_l is free. Rows are kept at unit norm (with one hidden layer their part w), and a
// step along a row costs as much as one across it, so that H is as regular as the network is determined. In
// sign-free form the sign of a row does not matter, so a start need not know it; the signed form, without a
// free linear term, is statistically efficient.
//
// Accuracy. Residuals are always recomputed from the rows and C is refined with them, at most twice or three
// times, so the accuracy is that of the problem (eps times the condition of the Jacobian), although normal
// equations are used inside.
#pragma once

#include <limits>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/data.h"
#include "model/form.h"

namespace exhume {

struct PolishOptions {
  int max_iterations = 60;
  double damping = 1e-2;           // first lambda of (H + lambda diag H) step = gradient
  double enough_relative = 4e-30;  // stop when mean squared residual / variance of y falls below
  double least_progress = 1e-4;    // stop when `patience` steps in a row improve less than this share
  int patience = 3;
  Index dense_limit = 3000;  // k (d+1) above which H is never formed
  Index block_rows = 0;      // rows per task; 0: two to four tasks, or 2,048 rows each
  // A fit that is not below `hopeful` after `hope` steps, nor falls tenfold in as many, is given up; 0:
  // never.
  int hope = 0;
  double hopeful = 1e-16;
  // Nor is one above `far` pursued once two steps in a row have not halved it.
  double far = std::numeric_limits<double>::infinity();

  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// Defaults for several hidden layers: more patience, because valleys are longer.
struct DeepPolishOptions : PolishOptions {
  DeepPolishOptions() {
    damping = 1e-3;
    enough_relative = 1e-28;
    least_progress = 0.02;
    patience = 6;
  }
};

// Those of a fit that ends where noise begins: the gains that count are small.
[[nodiscard]] PolishOptions noisy_polish();

enum class PolishOutcome {
  kExact,      // reached enough_relative
  kConverged,  // no further progress
  kExhausted,  // max_iterations or the deadline came first
};

struct Polished {
  Form form;
  double relative_mse = 0;  // mean squared residual / variance of y, over rows and outputs
  int iterations = 0;
  bool in_time = true;  // false: the deadline came first
  PolishOutcome outcome = PolishOutcome::kExhausted;
  std::vector<double> descent{};  // relative_mse at the start and after every accepted step
};
using DeepPolished = Polished;

// Polishes `start` (its C is recomputed): one hidden layer on samples, or any number on rows in memory.
[[nodiscard]] Polished polish(const Form& start, const SampleSource& samples, const PolishOptions& options,
                              const Control& control);
[[nodiscard]] Polished polish(const Form& start, const DeepData& data, const PolishOptions& options,
                              const Control& control);

// Solves for C with all V_l fixed; returns the relative mean squared residual.
double fit_linear_part(Form& form, const SampleSource& samples, const PolishOptions& options,
                       const Control& control);
double fit_linear_part(Form& form, const DeepData& data, const Control& control);

// Mean squared residual / variance of y, as the form stands.
[[nodiscard]] double relative_error(const Form& form, const DeepData& data, const Control& control);

// H / rows at the form, rows of unit norm, C solved: what the rows say of the V_l where C is free (p x p,
// both triangles).
[[nodiscard]] Matrix normal_matrix(const Form& form, const DeepData& data, const Control& control);

// What every unit of layer l is worth: the share of the variance that its linearised removal would leave,
// slope of f along |q_j| times |q_j|, projected off all features but |q_j| itself.
[[nodiscard]] Vector unit_worth(const Form& form, std::size_t l, const DeepData& data,
                                const Control& control);

}  // namespace exhume
