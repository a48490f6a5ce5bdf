// Step 1: directions of all units to about 0.05 radians, from moments alone (paper threshold, Theorem 1).
//
//   tensor         residualised orders 2 to 4, stacked, and rank-one elements of their span
//   (routes/depth2.h).
//                  Any number of units, any signs of their coefficients; the default.
//   one by one,    the paper's objectives (objectives.h): k <= d, coefficients of one sign.
//   simultaneous
//
// Where the rest level c_0 is exact, the activity [f != c_0] is known, in which weak and strong units weigh
// the same; the tensor road takes it as a second output. What limits the first look is not noise but bias:
// rows with two active units count once, so with activity 1 - prod (1 - X_i) every w_i leans away from the
// others by about u_1^2/u_2 a unit, whatever n is. A second look therefore counts such rows as often as units
// found so far are active there, which makes the response additive, sum_i X_i up to the errors of the first
// look, and halves the error. For the tensor road only: the objectives see little of the fourth moment of 0/1
// outputs and lose by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "exhume/base/control.h"
#include "exhume/data/samples.h"
#include "exhume/routes/threshold/profiles.h"
#include "exhume/base/types.h"

namespace exhume {

enum class StartMethod { kTensor, kOneByOne, kSimultaneous };
// "tensor", "one-by-one", "simultaneous"; anything else throws std::invalid_argument.
[[nodiscard]] StartMethod parse_start_method(std::string_view name);
[[nodiscard]] const char* to_string(StartMethod method);

struct StepOneOptions {
  std::optional<Index> hidden;  // k, if known
  StartMethod method = StartMethod::kTensor;
  bool second_look = true;
  std::uint64_t seed = 0;
};

struct StepOne {
  Oriented found;
  Vector singular_values;  // of the stacked moments (tensor road)
  double noise_floor = 0;
};

// Inputs standard, one output.
[[nodiscard]] StepOne step_one(const SamplePtr& samples, const RestLevel& rest, const StepOneOptions& options,
                               const Control& control);

}  // namespace exhume
