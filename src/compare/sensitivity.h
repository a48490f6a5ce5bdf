// Which weight of the file a difference goes with: rounding or a change?
//
//     r(x) = y(x) - f(x) = sum_k delta_k J_k(x) + e(x)        J_k = d f / d theta_k
//
// One weight that was changed leaves r = delta_k J_k to first order, at every input. Rounding leaves errors e
// that look random from input to input, of about s(x) = rounding_size, and moves every stored weight by a few
// units in its last place: r then has the covariance
//
//     S = n^2 diag(s^2) + sum_j u_j^2 J_j J_j^T,      n^2 the mean of (r / s)^2
//
// u_j: what single precision may do to theta_j, by the root mean square of its row, and to a common factor of
// a row (batch norm that was folded). The estimate of delta_k by generalised least squares over its standard
// error,
//
//     t_k = J_k^T S^-1 r / sqrt(J_k^T S^-1 J_k),
//
// has about the normal law of variance 1 where r is rounding. Where the largest |t_k| is above kChanged, no
// rounding explains r. J of weight (i, j) of layer l is the gradient in z_i times the feature h_j, so that
// all J_k^T v and the sum of J_j J_j^T are products of matrices. Cost O(n^3 + n^2 sum_l k_l), n = rows times
// outputs.
#pragma once

#include <Eigen/Cholesky>
#include <optional>
#include <vector>

#include "compare/blocks.h"

namespace exhume {

// A weight (or bias) of the file that explains a difference.
struct SuspectWeight {
  std::size_t layer = 0;  // from 0; the number of hidden layers: the outputs
  Index unit = 0;         // row of the file
  Index source = -1;      // 0 the inputs, then hidden layers; -1: the bias
  Index from = -1;        // of that source
  double weight = 0;      // of the file
  double change = 0;      // of the black box, less `weight`, to first order
  double t = 0;           // as above
  double share = 0;       // of the sum of squares of r that this change alone explains
};

struct SuspectUnit {
  std::size_t layer = 0;
  Index unit = 0;
  double share = 0;  // of the sum of squares that changes of all weights of its row explain
};

// r: rows x m, the difference at rows x of m of the outputs; size: of the same shape, above zero.
class Sensitivity {
 public:
  Sensitivity(const BlockNetwork& f, const std::vector<Index>& outputs, const RowMatrix& x,
              const RowMatrix& r, const RowMatrix& size);

  // The weight with the largest |t|; nothing where r is zero.
  [[nodiscard]] std::optional<SuspectWeight> worst() const;
  // The unit that explains most of r, of those with the largest |t|.
  [[nodiscard]] std::optional<SuspectUnit> worst_unit() const;

 private:
  struct Block {  // of weights, k_l x k_s, or of biases, k_l x 1
    std::size_t layer;
    Index source;
    Matrix values;
  };
  // <v, J_k> for all k, v: rows x m.
  [[nodiscard]] std::vector<Block> products(const RowMatrix& v) const;
  [[nodiscard]] Matrix covariance() const;
  [[nodiscard]] RowMatrix jacobian(std::size_t layer, Index unit, Index source, Index from) const;

  const BlockNetwork& f_;
  std::vector<RowMatrix> h_;
  std::vector<std::vector<RowMatrix>> back_;  // [output][layer]: rows x k_l, d f_o / d z_l
  RowMatrix r_, inverse_;                     // r and 1 / (n s), rows x m
  Eigen::LLT<Matrix> S_;                      // of r as a vector, output by output
};

constexpr double kChanged = 8;  // of |t|: rounding is above it once in 10^15 weights

}  // namespace exhume
