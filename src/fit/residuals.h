// What a fit of one hidden layer leaves of its rows, R = Y - F C, and what is made of it: its size, the rows
// with most of it, the samples with R for outputs, and outputs mixed so that it is independent noise of
// variance 1.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/form.h"

namespace exhume {

// R^T R, m x m.
[[nodiscard]] Matrix residual_products(const Form& form, const SampleSource& samples, Index block_rows,
                                       const Control& control);

// Unknowns of a sign-free fit, linear term included: k (d + m) + m (d + 1).
[[nodiscard]] Index search_unknowns(Index inputs, Index hidden, Index outputs);

struct Left {
  double relative_mse = 0;      // mean over rows and outputs, which have variance 1
  Matrix noise_covariance;      // of the outputs, m x m, freedom taken into account
  double rows_per_unknown = 0;  // equations for every unknown
};
// `products` = R^T R over so many rows.
[[nodiscard]] Left measure(const Form& form, const Matrix& products, Index rows);

// The `count` rows with the largest squared residual, in memory, worst first; ties by row number.
[[nodiscard]] SamplePtr hardest_rows(const Form& form, const SampleSource& samples, Index count,
                                     const Control& control);
// Two sets of rows as one.
[[nodiscard]] SamplePtr joined(const SampleSource& first, const SampleSource& second);

// The same samples with outputs y - C^T F(x; V). On a device where they lie on one.
[[nodiscard]] SamplePtr less_model(const SamplePtr& samples, const Form& form, const Control& control);

// Outputs mixed so that their noise is independent, with variance 1.
//
//     y' = Q y,   Q S Q^T = I,   S the covariance of the noise (m x m)
//
// Least squares in y' is the maximum-likelihood fit where noise is shared between outputs. A form whose upper
// layer is C (q x m) has C Q^T there. Eigenvalues of S are taken to be at least 1e-24 of their mean: outputs
// without noise count for very much, not for ever.
struct OutputMixing {
  Matrix Q = Matrix(), back = Matrix();  // m x m, inverse to each other
};
[[nodiscard]] OutputMixing unit_noise(const Matrix& covariance);
[[nodiscard]] SamplePtr mixed_outputs(const SamplePtr& samples, const OutputMixing& mixing);

}  // namespace exhume
