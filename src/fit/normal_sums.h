// The sums over rows that the polish needs, one struct a pass.
#pragma once

#include "data/reduce.h"
#include "model/separable_model.h"

namespace exhume {

// A block of samples seen through the model.
struct ModelBlock : ModelRows {
  Matrix Y;
  ModelBlock(const SeparableModel& model, const SampleBlock& block, bool with_slopes)
      : ModelRows(model, block.x(), with_slopes), Y(block.y()) {}
};

// F^T F and F^T Y.
struct LinearSums {
  Matrix FF, FY;
  void merge(const LinearSums& other) {
    FF += other.FF;
    FY += other.FY;
  }
};
[[nodiscard]] LinearSums linear_sums(const SeparableModel& model, const SampleSource& samples,
                                     Index block_rows, const Control& control);

// |R|^2 by output and F^T R for R = Y - F C.
struct ResidualSums {
  Vector squares;  // m
  Matrix FR;       // q x m
  void merge(const ResidualSums& other) {
    squares += other.squares;
    FR += other.FR;
  }
};
[[nodiscard]] ResidualSums residual_sums(const SeparableModel& model, const SampleSource& samples,
                                         Index block_rows, const Control& control);

// R^T R for R = Y - F C, m x m.
[[nodiscard]] Matrix residual_products(const SeparableModel& model, const SampleSource& samples,
                                       Index block_rows, const Control& control);

// gram += factor * G^T G, lower triangle, by dsyrk; Eigen's own update does not reach BLAS with a transposed factor.
void add_gram(const Matrix& G, double factor, Matrix& gram);

// All that a dense Gauss-Newton step needs.
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
[[nodiscard]] NormalSums normal_sums(const SeparableModel& model, const SampleSource& samples,
                                     Index block_rows, const Control& control);

// H_jl = (C_j . C_l) G_j^T P G_l, k(d+1) x k(d+1), symmetric and full. Along v_j itself a
// positively homogeneous unit has no curvature: there the mean curvature of its block is put, which
// fixes the unit's scale.
[[nodiscard]] Matrix projected_normal_matrix(const SeparableModel& model, const NormalSums& sums);

// X with M X = B for a symmetric, barely definite M: scaled to unit diagonal, then Cholesky with a ridge of
// 1e-15, or the least of 1e-13, 1e-11, ... with which it works. Zero where none does.
[[nodiscard]] Matrix solve_scaled(const Matrix& M, const Matrix& B);
// M^-1 in the same way.
[[nodiscard]] Matrix inverse_scaled(const Matrix& M);

}  // namespace exhume
