// Step 1: directions of all units to about 0.05 radians, from moments alone (paper threshold, Theorem 1).
//
//   method          moments                                 what it asks for
//   tensor          orders 2 to 4, residualised, stacked    any number of units, any signs; the default
//   one-by-one      orders 2 and 4, residualised            k <= d, coefficients of one sign
//   simultaneous    the same                                the same
//
// tensor takes the rank-one elements of the moments' span (routes/depth2.h); the other two are the paper's
// objectives (objectives.h).
//
// Where the rest level c_0 is exact, the activity [f != c_0] is known, in which weak and strong units weigh
// the same; tensor takes it as a second output. What limits the first look is not noise but bias: rows with
// two active units count once, so with activity 1 - prod (1 - X_i) every w_i leans away from the others by
// about u_1^2/u_2 per unit, whatever n is. A second look therefore counts such rows as often as units found
// so far are active there, which makes the response additive, sum_i X_i up to the errors of the first look,
// and halves the error. For tensor only: the objectives see little of the fourth moment of 0/1 outputs and
// lose by it.
//
// Assumes standard Gaussian inputs and one output. Cost: the moments, O(n d^4) a look at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "exhume/control.h"
#include "exhume/papers/threshold.h"
#include "exhume/samples.h"
#include "exhume/types.h"
#include "papers/threshold/profiles.h"

namespace exhume {

struct StepOneOptions {
  std::optional<Index> hidden;  // k, if known
  StartMethod method = StartMethod::kTensor;
  bool second_look = true;
  std::uint64_t seed = 0;
};

struct StepOne {
  Oriented found;
  Vector singular_values;  // of the stacked moments (tensor)
  double noise_floor = 0;
};

// Inputs standard, one output.
[[nodiscard]] StepOne step_one(const SamplePtr& samples, const RestLevel& rest, const StepOneOptions& options,
                               const Control& control);

}  // namespace exhume
