// A network of several hidden layers within a space, from questions in it; depth and widths are found.
//
//   1. planes of the first layer (extract/planes.h); kinks that no plane explains belong to units above
//   2. layer by layer, the units behind these kinks (extract/follow.h). A unit is kept where f bends along its
//      surface wherever that is looked at
//   3. after each layer the outputs are fitted on all features (fit/deep/form.h) at random questions: where that
//      is exact no layer is missing. Kinks that are left belong to the next layer, and where there are none more
//      lines are drawn
//   4. signs (fit/deep/signs.h), and the polish of all layers on the random questions (fit/deep/polish.h)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "extract/planes.h"
#include "model/form.h"

namespace exhume {

struct DeepWithinOptions {
  std::uint64_t seed = 0;
  double farthest = 40;  // how far a line leads where there is no box, in units of its scale
  int passes = 10;       // of lines and layers
  Planes planes;  // of an attempt before in the same space: its planes and kinks; none where there was none
};

struct DeepWithin {
  DeepForm form;       // plain where `plain`, otherwise sign-free; in the space's coordinates
  bool exact = false;  // the random questions are answered to rounding
  bool plain = false;  // a network without skip terms
  double relative_mse = 1;
  Planes planes;
  RowMatrix u, y;             // random questions and their answers
  std::vector<Index> widths;  // found so far, also where it is not exact
};

[[nodiscard]] DeepWithin deep_within(const Space& space, const DeepWithinOptions& options);

}  // namespace exhume
