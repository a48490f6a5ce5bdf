// Residuals against Hermite polynomials of degree 2 and 3 of the inputs: is any correlated with them?
//
//     t = |sum r h| / (sum r^2 h^2)^(1/2)      h: He_2(x_a), x_a x_b, He_3(x_a), He_2(x_a) x_b, x_a x_b x_c
//
// Each t is about standard normal where r has mean zero whatever x is. The sums are products of matrices:
// with weights r on the rows, sum r x_a x_b is X^T diag(r) X, and so on. Cost: 8 n m d^2 flops, and 4 n m d^3
// / 3 for all x_a x_b x_c.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

struct PolynomialLook {
  double largest = 0;  // of all t
  double tested = 1;   // how many there are
};

// residual: standardised inputs, residuals as outputs. triples: x_a x_b x_c of three inputs too.
[[nodiscard]] PolynomialLook look_at_polynomials(const SampleSource& residual, bool triples,
                                                 const Control& control);

}  // namespace exhume
