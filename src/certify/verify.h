// An independent re-check of a network against samples.
//
//   relative mse = sum_i |y_i - f(x_i)|^2 / sum_i |y_i - mean(y)|^2
//
// Deliberately plain: its own evaluation by naive loops, sums in long double, nothing of BLAS or of the
// solvers. A mistake there cannot hide here. O(n (dk + km)), blocks of rows by several threads, joined in a
// fixed order.
#pragma once

#include "exhume/activation.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/papers/memorize.h"
#include "exhume/samples.h"
#include "exhume/verify.h"

namespace exhume {

// Throws std::invalid_argument where inputs or outputs do not fit the network.
[[nodiscard]] Verification verify(const Network& network, const SampleSource& samples,
                                  const Control& control = {});
[[nodiscard]] Verification verify(const Network& network, const Rectifier& rectifier,
                                  const SampleSource& samples, const Control& control = {});
[[nodiscard]] Verification verify(const QuadraticNetwork& network, const SampleSource& samples,
                                  const Control& control = {});

}  // namespace exhume
