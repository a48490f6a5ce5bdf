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
#include "exhume/papers/depth2.h"
#include "exhume/samples.h"
#include "linalg/symmetric_tensor.h"

namespace exhume {

// The scalar He_p(z), probabilists' Hermite polynomial.
[[nodiscard]] double hermite(int p, double z);

// phi(z) and Phi(z) of the standard normal.
[[nodiscard]] double normal_density(double z);
[[nodiscard]] double normal_distribution(double z);

}  // namespace exhume
