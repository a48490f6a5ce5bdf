// Units that the subspace did not show: kinks of what is left in the whole space.
//
// A unit whose plane does not pass through the subspace (within the box) acts there as a linear function, and
// the columns take it for one. At random inputs of the domain it leaves something. A line from the middle,
// where nothing is left, to such an input meets its kink; the jump of the gradient there, d + 2 questions, is
// the unit.
#pragma once

#include <cstdint>

#include "extract/noise.h"
#include "model/separable_model.h"
#include "oracle/meter.h"

namespace exhume {

struct MissedOptions {
  std::uint64_t seed = 0;
  AnswerNoise noise;
  double spread = 1;  // standard deviation of inputs where there is no box
  Index questions = 64;
  int most_lines = 400;
};

struct Missed {
  Index found = 0;
  bool complete = false;  // nothing is left at the last random inputs
};

// Random inputs of the domain: uniform in the box, or normal with this standard deviation. count x d.
[[nodiscard]] RowMatrix domain_inputs(const Frame& frame, double spread, std::uint64_t seed,
                                      std::uint64_t first, Index count);

// Adds them to `model`: sign-free, in the user's coordinates.
[[nodiscard]] Missed missed_units(Meter& meter, SeparableModel& model, const MissedOptions& options);

}  // namespace exhume
