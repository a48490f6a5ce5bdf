// Cross moments of inputs and outputs that the pure-neuron detector is made of (paper symmetric,
// Algorithm 2, step 2):
//
//     E[xx^T]   E[yx^T]   E[yy^T]   E[y (x) x^(x)3]   E[y (x) y (x) x (x) x]
//
// and, for the variance reduction of routes/symmetric.h, the Gram matrix of the features
// phi(x) = (1, x, vech(xx^T)). Everything is a sum over rows of products of columns, formed as matrix
// products on tiles of rows, in symmetric storage (coordinates of symmetric_matrix.h, p = d(d+1)/2,
// p' = m(m+1)/2):
//
//     gram    (1+d+p) x (1+d+p)   sum phi phi^T, lower triangle
//     phi_y   (1+d+p) x m         sum phi y^T
//     yy      m x m               sum y y^T
//     yxxx    p x (d m)           sum vech(xx^T)_(a,b) x_c y_o at row (a,b), column c m + o; formed for
//                                 c >= b (b rounded down to a multiple of 8), the rest follows by symmetry
//     yyxx    p x p'              sum vech(xx^T) vech(yy^T)^T
//
// About n ((1+d+p)^2 + p d m + 2 p p') flops. Mergeable; results do not depend on the number of threads.
#pragma once

#include <tuple>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

struct CrossMoments {
  Index inputs = 0, outputs = 0;
  Index count = 0;
  Matrix gram, phi_y, yy, yxxx, yyxx;  // sums, not means

  CrossMoments() = default;
  CrossMoments(Index d, Index m);
  void add(const SampleBlock& block);
  void merge(const CrossMoments& other);
  auto fields() { return std::tie(inputs, outputs, count, gram, phi_y, yy, yxxx, yyxx); }

  [[nodiscard]] Matrix mean_xx() const;    // E[xx^T], d x d
  [[nodiscard]] Matrix mean_yx() const;    // E[yx^T], m x d
  [[nodiscard]] Matrix mean_yy() const;    // E[yy^T], m x m
  [[nodiscard]] Vector mean_y() const;     // E[y], m
  [[nodiscard]] Matrix mean_yyxx() const;  // p x p'
  // E[(y_o (q_i.x)) vech(xx^T)] for every row q_i of Q (r x d) and every output: p x (r m), that of (i, o) in
  // column i m + o.
  [[nodiscard]] Matrix mean_yqxx(const Matrix& Q) const;

  // The linear part of y by least squares, m x d. First E[yx^T] E[xx^T]^-1, as the paper has it; then that of
  // the regression on (1, x, vech(xx^T)). For symmetric inputs even functions are uncorrelated with x, so the
  // expectation is the same, and the even part of y, which is most of the variance, no longer adds to the
  // error. Falls back to the first where there are fewer than four samples for every feature.
  [[nodiscard]] Matrix linear_part() const;
  [[nodiscard]] Matrix linear_part_controlled() const;

  // Floating-point operations that add() spends on one row.
  [[nodiscard]] static double flops_per_row(Index d, Index m);
};

[[nodiscard]] CrossMoments cross_moments(const SampleSource& samples, const Control& control);

}  // namespace exhume
