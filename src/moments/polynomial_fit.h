// The least-squares polynomial of degree at most 3, by conjugate gradients on Hermite coefficients.
//
//     q(x) = <Q_0, 1> + <Q_1, x> + <Q_2, He_2(x)> + <Q_3, He_3(x)>       one set of coefficients an output
//
// For standardised inputs the Hermite features are nearly orthogonal with squared norms p!, so the normal
// matrix is nearly diag(p!) and about ten iterations suffice. The features, (d+3 choose 3) of them, are never
// formed: with K(x) = vech(xx^T), a cubic is K(x)^T Q_3 x, two matrix products per block. Works for any
// inputs; it only converges more slowly where they are far from Gaussian. An iteration costs 4/3 n m d p
// flops, p = d(d+1)/2, because only indices in order are used.
#pragma once

#include <memory>

#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

struct PolynomialFit {
  int degree = 1;
  Vector Q0;  // m
  Matrix Q1;  // d x m
  Matrix Q2;  // p x m, coordinates of symmetric_matrix.h
  Matrix Q3;  // p x (d m), output by output
  int iterations = 0;

  // q at every row of x: rows x m.
  [[nodiscard]] RowMatrix evaluate(const Eigen::Ref<const RowMatrix>& x) const;
};

// Number of features of this degree: (d + degree choose degree).
[[nodiscard]] double polynomial_features(Index inputs, int degree);

// Relative residual of the normal equations at which the iteration ends.
inline constexpr double kPolynomialTolerance = 1e-5;
[[nodiscard]] PolynomialFit fit_polynomial(const SampleSource& samples, int degree, const Control& control,
                                           int max_iterations = 12, double tolerance = kPolynomialTolerance);

// The samples with their outputs less the polynomial; on a device where they lie on one.
[[nodiscard]] SamplePtr less_polynomial(const SamplePtr& samples,
                                        const std::shared_ptr<const PolynomialFit>& fit,
                                        const Control& control);

}  // namespace exhume
