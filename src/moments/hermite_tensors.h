// Hermite coefficients of a network as symmetric tensors: exact ones, and estimates from samples.
//
// For x ~ N(0, I) and f(x) = A max(Wx + b, 0) + c + Lx with unit rows w_i (paper depth2, Lemma 3.5),
//
//     f_0 = sum_i A_oi (b_i Phi(b_i) + phi(b_i)) + c      f_1 = sum_i A_oi Phi(b_i) w_i + L
//     f_p = E[f He_p(x)] = sum_i A_oi (-1)^p He_{p-2}(b_i) phi(b_i) w_i (x) ... (x) w_i     (p times, p >= 2)
//
// The coordinates of He_p(x) are products of scalar Hermite polynomials, He_alpha(x) = prod_j He_{n_j}(x_j)
// where index j occurs n_j times in alpha.
//
// Estimates of orders 0 to 4 come from moments.h. Orders 5 and 6, for few inputs, are summed here: every
// product is one multiplication from a shorter one, so a row costs (d+6 choose 6) multiplications and as many
// products with y. Noise is, as everywhere, half the difference of the estimates over even and over odd rows.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"
#include "linalg/symmetric_tensor.h"

namespace exhume {

// Above this many inputs orders 5 and 6 are refused.
inline constexpr Index kMostInputsOfOrder6 = 8;

struct HermiteTensors {
  Index inputs = 0, outputs = 0;
  std::vector<SymmetricTensor> estimate;  // orders 0, 1, ...
  std::vector<SymmetricTensor> noise;  // of the same shapes, distributed like the errors; zero for exact ones
  [[nodiscard]] int order() const { return static_cast<int>(estimate.size()) - 1; }
};

// The scalar He_p(z), probabilists' Hermite polynomial.
[[nodiscard]] double hermite(int p, double z);

// phi(z) and Phi(z) of the standard normal.
[[nodiscard]] double normal_density(double z);
[[nodiscard]] double normal_distribution(double z);

// Lemma 3.5: orders 0 to `order`. Rows of W need not have unit norm.
[[nodiscard]] HermiteTensors population_hermite_tensors(const Network& network, int order);

struct HermiteTensorOptions {
  int order = 4;  // 4 or 6
  // false: E[y He_p], as the paper prints it. true: order p of what a polynomial of degree min(p - 1, 3)
  // leaves of y; the expectation is the same, the variance far smaller (moments.h).
  bool residualise = false;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// Samples must be standardised (standardise.h): covariance I, mean 0.
[[nodiscard]] HermiteTensors estimate_hermite_tensors(const SamplePtr& standard,
                                                      const HermiteTensorOptions& options,
                                                      const Control& control);

}  // namespace exhume
