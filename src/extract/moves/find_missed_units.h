// Move: units that the subspace did not show: kinks of what is left in the whole space.
//
//   needs     a single hidden layer with all its weights, as far as the subspace shows its units
//   asks      64 random queries per round, and about 8 + d + 2 per unit that is found
//   time      one evaluation of the model per query
//   changes   the model, which units join
//
// A unit whose plane does not pass through the subspace (within the box) acts there as a linear function, and
// the columns take it for one. At random inputs of the domain it leaves something. A line from the middle,
// where nothing is left, to such an input meets its kink; the jump of the gradient there, d + 2 queries, is
// the unit.
#pragma once

#include <cstdint>

#include "extract/space.h"
#include "model/separable_model.h"
#include "oracle/meter.h"

namespace exhume {

struct MissedOptions {
  std::uint64_t seed = 0;
  AnswerNoise noise;
  double spread = 1;  // standard deviation of inputs where there is no box
  Index queries = 64;
  int most_lines = 400;
};

// Adds them to `model`, sign-free, in the user's coordinates, and returns their number.
[[nodiscard]] Index find_missed_units(Meter& meter, SeparableModel& model, const MissedOptions& options);

}  // namespace exhume
