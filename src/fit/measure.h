// What a fit leaves of its rows, as numbers: the noise, if noise is what it is.
#pragma once

#include "exhume/fit/fit.h"

namespace exhume {

// relative_mse, noise_covariance and rows_per_unknown of `fit`, whose model leaves residuals R (rows x m) with
// `products` = R^T R.
void measure(Fit& fit, const Matrix& products, Index rows);

}  // namespace exhume
