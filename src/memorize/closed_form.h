// Memorising by one linear solve.
//
// Wanted: symmetric M_o with z_j^T M_o z_j = y_jo for every row j and output o. Among them the one of least
// Frobenius norm is a combination of the rows' own rank-one matrices:
//
//   M_o = sum_j alpha_jo z_j z_j^T,     K alpha = Y,     K_ij = (z_i . z_j)^2       K: n x n;  alpha, Y: n x m
//
// and its eigenvectors are the units (set_quadratic_forms): at most k an output, where Lemma 1 asks for 2k + 2.
//
//   Cholesky         K is formed in place, in the only n^2 numbers there are, scaled to unit diagonal (rows
//                    divided by their norms), and factored; n^3 / 3 operations. The default.
//   pivoted          QR with column pivoting of Phi = [z_j (x) z_j], whose condition number is the root of K's:
//                    where K is not numerically positive definite or the fit is not good, if Phi fits in
//                    memory. Where K is not definite and Phi does not fit: Cholesky with complete pivoting,
//                    which fits the rows it found independent.
//   conj. gradients  where K does not fit in memory: K v = values(gram(v)) at 4 n k^2 operations, never formed.
//
// All end with iterative refinement of M itself, not of alpha: the residual y_j - z_j^T M z_j is what the
// network will leave, its correction is small, and so the error goes down to eps cond(Phi), not to
// eps cond(Phi)^2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

enum class KernelSolver { kAuto, kCholesky, kPivoted, kConjugateGradients };
[[nodiscard]] const char* to_string(KernelSolver solver);

struct ClosedFormOptions {
  KernelSolver solver = KernelSolver::kAuto;
  double memory_bytes = 0x1p32;  // the most that the solve may take: 8 n^2 and a little for Cholesky
  int max_refinements = 8;       // stops earlier when the residual no longer halves
  double good_fit = 1e-16;       // relative error above which Cholesky hands over to pivoted QR
  double cg_tolerance = 1e-10;   // ||K alpha - y|| / ||y|| of one run of conjugate gradients
  int cg_max_iterations = 5000;  // a run, an output
  bool spectrum = true;          // estimate sigma and the condition number
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

struct ClosedForm {
  std::vector<Matrix> forms;  // M_o: k x k, one an output
  double relative_error = 0;  // sum of squared residuals / sum of squared deviations of y from its mean
  KernelSolver solver = KernelSolver::kAuto;  // the one that gave `forms`
  Index rank = 0;  // columns of Phi found independent; n unless the rows are not in general position
  bool full_rank = false;
  // Independent columns whose kernel no computation in doubles can tell from a singular one are in no general
  // position that anybody could use: its condition number is at most 2^104, since Phi's own is its root.
  [[nodiscard]] bool in_general_position() const { return full_rank && condition <= 0x1p104; }
  double sigma_min = 0;             // smallest singular value of Phi (Theorem 4's sigma); 0 where rank < n
  double sigma_max = 0;             // largest
  double condition = 0;             // of K: (sigma_max / sigma_min)^2; infinite where rank < n
  bool spectrum_converged = false;  // false: sigma_min is only an upper bound (Lanczos stopped early)
  int refinements = 0;
  int iterations = 0;  // products with K, for conjugate gradients
  double kernel_seconds = 0, factor_seconds = 0, solve_seconds = 0, spectrum_seconds = 0;
};

// z: n x k, y: n x m.
// Throws ResourceError if not even the k x k matrices fit, std::invalid_argument, Interrupted.
[[nodiscard]] ClosedForm fit_closed_form(const Eigen::Ref<const RowMatrix>& z,
                                         const Eigen::Ref<const RowMatrix>& y,
                                         const ClosedFormOptions& options = {}, const Control& control = {});

// sum of squares of (values - y) / sum of squares of (y - column means); / sum of squares of y
// if y is constant.
[[nodiscard]] double relative_error(const Eigen::Ref<const Matrix>& values,
                                    const Eigen::Ref<const RowMatrix>& y);

}  // namespace exhume
