// Gauss-Newton steps of one hidden layer without the normal matrix, for problems too large to form it.
//
// The joint Gauss-Newton matrix of (V, C) is applied block by block of rows: with dZ = X~ dV^T,
//
//     J (dV, dC) = (slopes * dZ) C_units + F dC,    J^T U = ( (slopes * U C_units^T)^T X~ , F^T U ),
//
// O(n k (d + m)) per product. Conjugate gradients solve the damped equations; only dV is used, C is solved
// again exactly. The preconditioner has one block for C (F^T F, q x q) and one per unit:
//
//     B_j = |C_j|^2 G_j^T G_j + s_j v_j v_j^T        (d+1) x (d+1)
//
//     G_j = slopes_j * X~: rows x (d+1);  s_j: the mean of the diagonal, where the scale of a unit is free
//
// Slopes of |z| are +-1, so that G_j^T G_j = X~^T X~ for all units: one sum and one factorisation serve all
// of them, with the part along v_j by the formula of Sherman and Morrison. Where inputs are many, other units
// are treated in the same way, times the mean of their squared slopes: a preconditioner need not be exact,
// and a sum for every unit costs more than the products that it saves.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include <Eigen/Dense>

#include "fit/sums.h"

namespace exhume {

inline constexpr int kMostProducts = 120;  // of one step
inline constexpr double kForcing = 1e-3;   // relative residual at which conjugate gradients stop

// What the blocks are made of, block of rows by block of rows.
struct UnitBlockSums {
  std::vector<Matrix> GG;  // lower triangles: one of every unit, or X~^T X~ alone
  Vector slopes;           // squared, summed over the rows: k

  explicit UnitBlockSums(const Form& form);
  auto fields() { return std::tie(GG, slopes); }
  [[nodiscard]] bool alike() const { return GG.size() == 1 && slopes.size() != 1; }
  void add(const FormRows& rows);
  void merge(const UnitBlockSums& other);
};

class UnitBlocks {
 public:
  UnitBlocks() = default;
  UnitBlocks(const Form& form, const UnitBlockSums& sums, Index rows);

  [[nodiscard]] const Matrix& diagonal() const { return diagonal_; }  // (d+1) x k
  // What holds a unit's scale, t_j v_j, t_j the mean of diagonal(), and v_j: (d+1) x k, zero where scales are
  // not free.
  [[nodiscard]] const Matrix& stiff() const { return stiff_; }
  [[nodiscard]] const Matrix& along() const { return along_; }

  // One A for all units, B_j = weight_j A + s_j v_j v_j^T, or a block of every unit: how many, and each with
  // its damping.
  [[nodiscard]] Index count() const { return static_cast<Index>(blocks_.size()); }
  [[nodiscard]] bool alike() const { return count() < diagonal_.cols(); }
  [[nodiscard]] Matrix damped(Index i, double lambda) const;
  // Of one for all: B_j^-1 r = (A^-1 r - share_j (v_j . A^-1 r) turned_j) / weight_j, turned_j = A^-1 v_j.
  [[nodiscard]] Vector shares(const Matrix& turned) const;
  [[nodiscard]] const Vector& weights() const { return weight_; }

  // To be called before solve: factors B_j + lambda diag B_j.
  void factor(double lambda);
  // Columns of r, each by its unit's factor.
  [[nodiscard]] Matrix solve(const Matrix& r) const;

 private:
  std::vector<Matrix> blocks_;  // full; one for all or one per unit, then with s_j v_j v_j^T
  Vector weight_;               // of the one for all
  Vector stiffness_;            // s_j
  Matrix diagonal_, stiff_, along_;
  std::vector<Eigen::LLT<Matrix>> factors_;
  Matrix turned_;  // A^-1 v_j of the one factor A
  Vector share_;
};

class ConjugateSystem final : public NormalSystem {
 public:
  // `samples` and `control` outlive it.
  ConjugateSystem(const Form& form, const SampleSource& samples, Index block_rows, const Control& control);
  [[nodiscard]] std::optional<Vector> step(double damping) const override;

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
  [[nodiscard]] Direction apply(const Direction& x, double damping) const;
  [[nodiscard]] Direction precondition(const Direction& r, const UnitBlocks& units) const;

  Form form_;
  const SampleSource& samples_;
  Index block_rows_;
  const Control& control_;
  UnitBlocks blocks_;
  Matrix inverse_FF_;
  Direction gradient_;
};

}  // namespace exhume
