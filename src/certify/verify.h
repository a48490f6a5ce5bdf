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

namespace exhume {

struct Verification {
  Index rows = 0;           // rows checked: all of them
  double relative_mse = 0;  // 0 / 0, constant outputs that are met exactly, counts as 0
  double rms_error = 0;     // sqrt of the mean over rows and outputs of (y - f)^2
  double worst_error = 0;   // largest |y - f| over rows and outputs
  Index worst_row = -1;     // where it is, counted from 0; -1 where there are no rows
  Index worst_output = -1;
};

// Throws std::invalid_argument where inputs or outputs do not fit the network.
[[nodiscard]] Verification verify(const Network& network, const SampleSource& samples,
                                  const Control& control = {});
[[nodiscard]] Verification verify(const Network& network, const Rectifier& rectifier,
                                  const SampleSource& samples, const Control& control = {});
[[nodiscard]] Verification verify(const QuadraticNetwork& network, const SampleSource& samples,
                                  const Control& control = {});

}  // namespace exhume
