// What a fit leaves of its rows, as numbers: the noise, if noise is what it is.
#pragma once

#include "model/separable_model.h"

namespace exhume {

// Unknowns of a sign-free fit, linear term included: k (d + m) + m (d + 1).
[[nodiscard]] Index search_unknowns(Index inputs, Index hidden, Index outputs);

struct Left {
  double relative_mse = 0;      // mean over rows and outputs, which have variance 1
  Matrix noise_covariance;      // of the outputs, m x m, freedom taken into account
  double rows_per_unknown = 0;  // equations for every unknown
};
// `model` leaves residuals R (rows x m) with `products` = R^T R.
[[nodiscard]] Left measure(const SeparableModel& model, const Matrix& products, Index rows);

}  // namespace exhume
