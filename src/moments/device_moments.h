// Passes of moments over rows on a device (data/resident.h): the same sums as on the processor.
//
//     K: rows x p, coordinates of x x^T, p = d(d+1)/2;   R: rows x m
//     orders 0, 1, 2     1^T R, X^T R, K^T R             order 3     K^T (R_o * X), output by output
//     order 4            moments/device_order4.h
//
// Rows come in strips, features of a strip are made on the device, products are cuBLAS's. Sums over even and
// over odd rows are kept apart as in moments/moments.h.
#pragma once

#include <array>
#include <functional>

#include "data/resident.h"

namespace exhume {

// Sums over even and over odd rows, as RawSums has them: orders up to 2, any number of inputs.
struct LowSums {
  Vector order0;
  Matrix order1, order2;
};
[[nodiscard]] std::array<LowSums, 2> low_sums_on_device(const DeviceRows& rows, int order,
                                                        const Control& control);

// (Y - mean)^T (Y - mean) / n
[[nodiscard]] Matrix output_covariance_on_device(const DeviceRows& rows);

// Coefficients of the polynomial that fit_polynomial (moments/polynomial_fit.h) finds, order by order: 1 x m,
// d x m, p x m, p x (d m); and the rows with their outputs less it.
struct PolynomialCoefficients {
  std::array<Matrix, 4> Q;
  int iterations = 0;
};
[[nodiscard]] PolynomialCoefficients fit_polynomial_on_device(const DeviceRows& rows, int degree,
                                                              const Control& control, int max_iterations,
                                                              double tolerance);
[[nodiscard]] DeviceRows less_polynomial_on_device(const DeviceRows& rows, int degree,
                                                   const std::array<Matrix, 4>& Q, const Control& control);

// The Hermite moment of order 2, 3 or 4 over both halves, output by output or all at once, with p rows each:
// calls use(sum, difference), twice the estimate and twice what is distributed like its error, on the device.
// Order 4 is symmetric.
void moments_on_device(
    const DeviceRows& rows, int order, const Control& control,
    const std::function<void(const DeviceView<double>& sum, const DeviceView<double>& difference)>& use);

// E[r He_2(w.x)] and E[r He_3(w.x)], sums over the rows, for directions w, the columns of W (d x k): k x m
// each.
struct DirectionMoments {
  Matrix second, third;
};
[[nodiscard]] DirectionMoments direction_moments(const DeviceRows& rows, const Matrix& W,
                                                 const Control& control);

}  // namespace exhume
