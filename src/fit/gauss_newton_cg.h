// Gauss-Newton steps without the normal matrix, for problems too large to form it.
//
// The joint Gauss-Newton matrix of (V, C) is applied block by block of rows: with dZ = X~ dV^T,
//
//     J (dV, dC) = (slopes * dZ) C_units + F dC,    J^T U = ( (slopes * U C_units^T)^T X~ , F^T U ),
//
// O(n k (d + m)) a product. Conjugate gradients with a block preconditioner (one (d+1) x (d+1) block a unit,
// fit/unit_blocks.h, one q x q block for C) solve the damped equations; only dV is used, C is solved again exactly.
#pragma once

#include "fit/normal_sums.h"
#include "fit/unit_blocks.h"

namespace exhume {

class ConjugateStep {
 public:
  ConjugateStep(const SeparableModel& model, const SampleSource& samples, Index block_rows,
                const Control& control);
  [[nodiscard]] Matrix step(double lambda, const SeparableModel& model) const;

 private:
  struct Direction {
    Matrix V, C;  // (d+1) x k, q x m
    void merge(const Direction& other) {
      V += other.V;
      C += other.C;
    }
    [[nodiscard]] double dot(const Direction& other) const {
      return V.cwiseProduct(other.V).sum() + C.cwiseProduct(other.C).sum();
    }
  };
  [[nodiscard]] Direction apply(const Direction& x, double lambda, const SeparableModel& model) const;
  [[nodiscard]] Direction precondition(const Direction& r, const UnitBlocks& units) const;

  const SampleSource& samples_;
  Index block_rows_;
  const Control& control_;
  UnitBlocks blocks_;
  Matrix inverse_FF_;
  Direction gradient_;
};

}  // namespace exhume
