// All weights once more, where answers are coarse: least squares on random questions of the whole domain.
//
// A column of weights comes from steps along one direction, as short as its units allow (extract/columns.h): the error
// of an answer is divided by the step, and the errors of d columns add up. A random input has all directions in it at
// full length. With p unknowns and n m such answers of error sigma, Gauss-Newton on all parameters
// (conjugate gradients, 4 n d k operations a step) leaves
//
//     sigma (p / (n m - p))^(1/2)      at fresh inputs
//
// About 1.5 p / m questions; fewer than that are not asked where a limit allows no more, and the model stays.
#pragma once

#include <cstdint>

#include "model/separable_model.h"
#include "oracle/meter.h"

namespace exhume {

struct AveragedOptions {
  std::uint64_t seed = 0;
  double spread = 1;        // standard deviation of inputs where there is no box
  std::uint64_t first = 0;  // row of the domain's random inputs from which on they are asked
};

// `model`: sign-free, in the user's coordinates. Returned as it is where the polish does not better it.
[[nodiscard]] SeparableModel averaged(Meter& meter, const SeparableModel& model,
                                      const AveragedOptions& options);

}  // namespace exhume
