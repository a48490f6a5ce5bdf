// Rough units for the exact finish, one function a kind of inputs (paper rectified, Section 4).
//
//   tensor_start      Gaussian inputs, any mean and covariance                        Algorithm 4, corrected
//   noisy_start       the same; with noise on the outputs                             Section 5
//   ica_start         standard Gaussian inputs, orthonormal rows of W                 Algorithm 3
//   symmetric_units   x and -x equally likely                                         Section 4.3
//
// tensor_start. The third-order score has expectation zero for a ReLU without bias, so order 2 is used, with
// the output index as the third mode:
//
//     E[y_o He_2(x)] = sum_i A_oi alpha_i w_i w_i^T,     alpha_i = E[f''(w_i.x + b_i)] > 0
//
// for every rectifier of model/rectifier.cc. The rank-one elements of the span of the slices are the
// directions (routes/depth2.h). At least as many outputs as units.
//
// noisy_start. Where noise hides units of a known number, the rest comes from the residual of the others
// (fit/unit_search.h, which takes the ReLU's sign-free form).
//
// ica_start. The hidden outputs are independent, so the independent components of the whitened outputs are
// the hidden outputs; the inputs only turn a component into a direction.
//
// symmetric_units. The units of routes/symmetric.h, biases 0.
//
// All return rows (w, b), (number found) x (d+1), in the coordinates of the samples, sign open; an empty
// `hidden` takes the number that stands out from the noise.
#pragma once

#include <cstdint>
#include <optional>

#include "exhume/control.h"
#include "exhume/papers/rectified.h"
#include "exhume/samples.h"
#include "model/rectified_network.h"

namespace exhume {

[[nodiscard]] Matrix tensor_start(const SamplePtr& samples, std::optional<Index> hidden, std::uint64_t seed,
                                  const Control& control);

[[nodiscard]] Matrix noisy_start(const SamplePtr& samples, std::optional<Index> hidden, std::uint64_t seed,
                                 const Control& control);

[[nodiscard]] Matrix ica_start(const Eigen::Ref<const RowMatrix>& x, const Eigen::Ref<const RowMatrix>& y,
                               Index hidden, const Rectifier& rectifier, const IcaOptions& options,
                               const Control& control);

[[nodiscard]] Matrix symmetric_units(const SamplePtr& samples, std::optional<Index> hidden,
                                     std::uint64_t seed, const Control& control);

}  // namespace exhume
