// The pure-neuron detector (paper symmetric, Corollary 1 and Lemmas 4, 9, 10), and the matrices that say how
// well it works on given inputs (Definition 1).
//
// For y = A s(Wx) + noise with symmetric x, take Q = the linear part of y (m x d). For one output u.y,
//
//     f(u) = K E[(u.y)(u^T Q x) xx^T] - E[(u.y)^2 xx^T] + E[(u.y)^2 - K (u.y)(u^T Q x)] E[xx^T]
//
// vanishes where u.y is a single neuron. The last term cancels noise; Algorithm 2 leaves it out. f
// is quadratic in u, so f(u) = T vech(uu^T) with T: p x p', p = d(d+1)/2, p' = m(m+1)/2, in
// coordinates of symmetric_matrix.h on both sides. With z_i the rows of A^-1, the null space of T is
// the span of the vech(z_i z_i^T).
//
// Leaky ReLU s(t) = max(t, at), 0 <= a < 1. Since s(t) = (1+a)/2 t + (1-a)/2 |t|, only constants change:
//
//     Q = (1+a)/2 A W,    K = 2 (1 + a^2) / (1 + a)^2   (2 for ReLU),
//     f(u) = (1-a)^2 sum_{i<j} c_i c_j (N_ij - m_ij E[xx^T])
//
// with c = A^T u. For ReLU (a = 0) and exact Q the detector vanishes on pure neurons row by row, not only in
// the mean: with y = (l + e)/2, Qx = l/2, where l is odd and e even in x, 2 y (Qx) - y^2 = (l^2 - e^2)/4 is
// zero where |l| = |e|. So without noise all of its error comes from the error of Q.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"
#include "moments/cross_moments.h"

namespace exhume {

// Algorithm 1 for a unit of slope `leak` below zero returns this times E[xx^T]^-1 E[yx]: 2 / (1 + a).
[[nodiscard]] constexpr double single_layer_factor(double leak) { return 2 / (1 + leak); }
// K above.
[[nodiscard]] constexpr double detector_factor(double leak) {
  return 2 * (1 + leak * leak) / ((1 + leak) * (1 + leak));
}

struct DetectorOptions {
  bool cancel_noise = true;  // Algorithm 3; false: Algorithm 2
  double leak = 0;           // slope a of the units below zero
};

// T, p x p'. Q: m x d.
[[nodiscard]] Matrix pure_neuron_detector(const CrossMoments& moments, const Matrix& Q,
                                          const DetectorOptions& options);

// The right singular vectors of T for its `count` least singular values, p' x count, orthonormal, and all
// singular values, decreasing, padded with zeros to p' where p < p'.
struct NullSpace {
  Matrix basis;
  Vector singular_values;
  // sigma_{p'-count} / sigma_{p'-count+1}: how clearly the null space stands out.
  [[nodiscard]] double gap() const;
};
[[nodiscard]] NullSpace null_space(const Matrix& T, Index count);

// N, p x k(k-1)/2: one column a pair i < j, in the order (0,1), (0,2), (1,2), (0,3), ..., the coordinates of
//
//     N_ij = E[(w_i.x)(w_j.x) xx^T 1{(w_i.x)(w_j.x) <= 0}].
//
// Coordinates are an isometry, so the singular values are those of the d^2-row matrix of Definition 1.
[[nodiscard]] Matrix distinguishing_matrix(const Matrix& W, const SampleSource& samples,
                                           const Control& control);
// m_ij = E[(w_i.x)(w_j.x) 1{(w_i.x)(w_j.x) <= 0}], in the same order.
[[nodiscard]] Vector opposite_products(const Matrix& W, const SampleSource& samples, const Control& control);
// M, the same with E[xx^T] as last column.
[[nodiscard]] Matrix augmented_distinguishing_matrix(const Matrix& W, const SampleSource& samples,
                                                     const Control& control);

// How well pairs of units can be told apart on these inputs: extreme singular values of N and M with unit
// rows of W. A sigma_min near zero means that some pair never, or hardly ever, disagrees in sign. By Lemma 14
// the least singular value of T outside its null space is at least sigma_min(M) sigma_min(A)^2.
struct DistinguishingSummary {
  double least_n = 0, largest_n = 0;  // of N; 0 where there is a single unit
  double least_m = 0, largest_m = 0;  // of M
};
[[nodiscard]] DistinguishingSummary distinguishing_summary(const Matrix& W, const SampleSource& samples,
                                                           const Control& control);

}  // namespace exhume
