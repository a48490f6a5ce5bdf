// The sums over rows that a fit is made of (fit/polish.h has the equations), one struct per pass, and the
// barely definite systems that they give. None of them depends on the number of threads.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "data/reduce.h"
#include "model/form.h"

namespace exhume {

// A block of samples seen through the form.
struct FormBlock : FormRows {
  Matrix Y;
  FormBlock(const Form& form, const SampleBlock& block, bool with_slopes)
      : FormRows(form, block.x(), with_slopes), Y(block.y()) {}
};

// F^T F and F^T Y.
struct LinearSums {
  Matrix FF, FY;
  void merge(const LinearSums& other) {
    FF += other.FF;
    FY += other.FY;
  }
};
[[nodiscard]] LinearSums linear_sums(const Form& form, const SampleSource& samples, Index block_rows,
                                     const Control& control);

// |R|^2 by output and F^T R for R = Y - F C.
struct ResidualSums {
  Vector squares;  // m
  Matrix FR;       // q x m
  void merge(const ResidualSums& other) {
    squares += other.squares;
    FR += other.FR;
  }
};
[[nodiscard]] ResidualSums residual_sums(const Form& form, const SampleSource& samples, Index block_rows,
                                         const Control& control);

// All that a dense Gauss-Newton step of one hidden layer needs.
struct NormalSums {
  Matrix GG, GF, FF;  // only the lower triangle of GG is filled
  Matrix gradient;    // (d+1) x k: column j is G_j^T R C_j^T
  void merge(const NormalSums& other) {
    GG += other.GG;
    GF += other.GF;
    FF += other.FF;
    gradient += other.gradient;
  }
};
[[nodiscard]] NormalSums normal_sums(const Form& form, const SampleSource& samples, Index block_rows,
                                     const Control& control);

// H_jl = (C_j . C_l) G_j^T P G_l, k(d+1) x k(d+1), symmetric and full. Along v_j itself a positively
// homogeneous unit has no curvature: there the mean curvature of its block is put, which fixes the unit's
// scale.
[[nodiscard]] Matrix projected_normal_matrix(const Form& form, const NormalSums& sums);

// gram += factor * G^T G, lower triangle, by dsyrk; Eigen's own update does not reach BLAS with a transposed
// factor.
void add_gram(const Eigen::Ref<const Matrix>& G, double factor, Eigen::Ref<Matrix> gram);

// X with M X = B for a symmetric, barely definite M: scaled to unit diagonal, then Cholesky with a ridge of
// 1e-15 (rounding of the scaled diagonal), or the least of 1e-13, 1e-11, ... with which it works. Zero where
// none does.
[[nodiscard]] Matrix solve_scaled(const Matrix& M, const Matrix& B);
// M^-1 in the same way.
[[nodiscard]] Matrix inverse_scaled(const Matrix& M);

// L L^T = D (M + ridge) D with D = diag(scale), the inverse roots of M's diagonal; ridge: `first`, or the
// least of 100 times that, 10^4 times, ... below 1 with which it works. False where none does.
struct ScaledFactor {
  Vector scale;
  Matrix L;  // in the lower triangle
};
inline constexpr double kLeastRidge = 1e-15;    // rounding of a diagonal of ones
inline constexpr double kFeatureRidge = 1e-14;  // of F^T F where features of several layers nearly depend
[[nodiscard]] bool factor_scaled(const Matrix& M, double first, ScaledFactor& factor);

// One linearisation of the fit. H: every row of V_l is held at its length.
class NormalSystem {
 public:
  virtual ~NormalSystem() = default;
  // (H + damping diag H)^-1 gradient: layer by layer, unit by unit; nothing where that is not positive
  // definite.
  [[nodiscard]] virtual std::optional<Vector> step(double damping) const = 0;
  // H, lower triangle; empty where it is never formed.
  [[nodiscard]] virtual Matrix matrix() const { return {}; }
};

// Sums over rows in memory, by tasks whose number never depends on the number of threads.
inline constexpr Index kTaskRows = 512;  // rows that a task takes at least
inline constexpr Index kMostTasks = 16;  // as many as the cores of a usual machine
inline constexpr Index kStripRows =
    256;  // rows whose Jacobian is in memory at once: 1,000 unknowns take 2 MB, a cache

// Tasks of consecutive rows, in strips: clear(sums) once, then add(sums, first, rows). Their sums are merged
// in a fixed binary tree; that of all rows is sums[0]. `sums` is memory that may serve the next call too:
// large ones take as long to get from the system as to fill.
template <class Sums, class Clear, class Add>
void over_rows_into(std::vector<Sums>& sums, Index rows, Index most_tasks, const Control& control,
                    const Clear& clear, const Add& add) {
  const Index tasks = std::clamp<Index>(rows / kTaskRows, 1, most_tasks);
  sums.resize(static_cast<std::size_t>(tasks));
  parallel_for(tasks, control, [&](Index task) {
    Sums& to = sums[static_cast<std::size_t>(task)];
    clear(to);
    const Index end = rows * (task + 1) / tasks;
    for (Index at = rows * task / tasks; at < end; at += kStripRows) {
      control.check();
      add(to, at, std::min(kStripRows, end - at));
    }
  });
  for (Index step = 1; step < tasks; step *= 2) {
    const Index pairs = (tasks - 1 - step) / (2 * step) + 1;
    parallel_for(pairs, control, [&](Index pair) {
      const Index left = pair * 2 * step;
      sums[static_cast<std::size_t>(left)].merge(sums[static_cast<std::size_t>(left + step)]);
    });
  }
}

// The same with memory of its own.
template <class Sums, class Add>
Sums over_rows(Index rows, const Sums& empty, const Control& control, const Add& add) {
  std::vector<Sums> sums;
  over_rows_into(
      sums, rows, kMostTasks, control, [&](Sums& to) { to = empty; }, add);
  return std::move(sums[0]);
}

}  // namespace exhume
