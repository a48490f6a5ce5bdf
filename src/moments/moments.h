// Moments of samples: sums over rows that can be added to, merged, saved and shipped.
//
// First pass: SecondMoments, the joint mean and covariance of (x, y). They give the coordinates in which
// inputs have mean 0 and covariance I (see standardise.h) and the best linear fit.
//
// Later passes: HermiteMoments of a residual r = y - q(x), in standardised coordinates. For Gaussian x and
// f(x) = A max(Wx + b, 0) + c with unit rows w_i (paper depth2, Lemma 3.5), for p >= 2,
//
//     E[y_o He_p(x)] = sum_i A_oi (-1)^p He_{p-2}(b_i) phi(b_i)  w_i (x) ... (x) w_i   (p times)
//
// and He_p is orthogonal to polynomials of lower degree, so y may be replaced by y - q(x) for any polynomial
// q of degree < p. The expectation stays; the variance collapses. Residualise order 2 on degree 1, order 3 on
// degree 2, order 4 on degree 3 (see polynomial_fit.h).
//
// Every moment is kept twice, over even and over odd rows: T = (T_even + T_odd)/2 is the estimate and
// D = (T_even - T_odd)/2 has exactly the distribution of its error, whatever the inputs and the noise. All
// noise floors in the library come from D.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

// Count, mean and centred cross products of (x, y). Merging is exact in count and stable in the rest
// (pairwise update of Chan, Golub and LeVeque).
struct SecondMoments {
  Index inputs = 0, outputs = 0;
  Index count = 0;
  Vector mean;     // d + m: mean of x, then of y
  Matrix centred;  // (d + m) x (d + m): sum of (v - mean)(v - mean)^T over v = (x, y)

  SecondMoments() = default;
  SecondMoments(Index d, Index m);
  void add(const SampleBlock& block);
  void merge(const SecondMoments& other);
  auto fields() { return std::tie(inputs, outputs, count, mean, centred); }

  [[nodiscard]] Vector mean_x() const { return mean.head(inputs); }
  [[nodiscard]] Vector mean_y() const { return mean.tail(outputs); }
  [[nodiscard]] Matrix covariance_x() const;   // d x d
  [[nodiscard]] Matrix covariance_y() const;   // m x m
  [[nodiscard]] Matrix covariance_yx() const;  // m x d

  [[nodiscard]] std::string serialise() const;
  [[nodiscard]] static SecondMoments deserialise(const std::string& bytes);  // DataError if it is none
};

[[nodiscard]] SecondMoments second_moments(const SampleSource& samples, const Control& control);

// Raw sums over even or over odd rows, in the coordinates of symmetric_matrix.h (p = d(d+1)/2):
//   order 0   sum r               m
//   order 1   sum r x^T           d x m
//   order 2   sum r vech(xx^T)    p x m
//   order 3   sum r x_a x_b x_c         p x (d m), output by output: row (a, b), column c
//   order 4   sum r x_a x_b x_c x_e     p x (p m), output by output: row (a, b), column (d-1-e, d-1-c)
// The last two are symmetric in their indices, so only those with a <= b <= c <= e are summed, a third and a
// sixth of all; rows carry the root of two of (a, b), columns that of (c, e). Other entries may be there or
// zero: `half` fills them. With inputs in reverse, the columns c >= b of every row are the first ones.
struct RawSums {
  Vector order0;
  Matrix order1, order2, order3, order4;
  void add(const RawSums& other);
};

// Hermite moments of r up to `order` (0 to 4), over both halves of the rows.
struct HermiteMoments {
  Index inputs = 0, outputs = 0;
  int order = 2;
  Index count[2] = {0, 0};  // even rows, odd rows
  RawSums sums[2];

  HermiteMoments() = default;
  HermiteMoments(Index d, Index m, int highest);
  // Adds rows whose inputs are x (rows x d) and residuals r (rows x m); first_row decides even and odd.
  void add(Index first_row, const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& r);
  void merge(const HermiteMoments& other);
  auto fields() { return std::tie(inputs, outputs, order, count, sums); }

  // The Hermite moment of order p over half h, corrected from the raw sums; order 4 and 3 are fully symmetric
  // tensors seen as p x (p m) and p x (d m) matrices. Outputs side by side.
  [[nodiscard]] Matrix half(int p, int h) const;
  [[nodiscard]] Matrix estimate(int p) const;  // over all rows
  [[nodiscard]] Matrix noise(int p) const;     // distributed like the error of estimate(p)

  [[nodiscard]] std::string serialise() const;
  [[nodiscard]] static HermiteMoments deserialise(const std::string& bytes);
};

// The moments of y itself, where `samples` already shows residuals as its outputs.
[[nodiscard]] HermiteMoments hermite_moments(const SampleSource& samples, int order, const Control& control);

}  // namespace exhume
