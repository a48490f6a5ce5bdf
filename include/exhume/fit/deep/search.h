// A network of several hidden layers from samples alone, its widths found on the way.
//
//     wide student -> merge -> polish of all layers -> prune until no unit can go -> signs -> plain polish
//
// Students start narrow and double until one is trained far enough that the polish, on all layers together,
// falls to rounding. Where one student leads nowhere another is trained: units of the first layer on which
// two students agree are the network's, and the layer above them is found by peeling (fit/deep/peel.h).
//
// Where a student that is wider or trained for longer does no better on rows that were not fitted, the rows are taken
// for noisy: the least network whose residuals chance explains (fit/deep/in_noise.h).
//
// A tenth of the rows is looked at but not fitted: a network with units too many may be exact on all rows it
// saw and on no others, and then the search goes on. Nothing here is proved. What is found is exact or it is
// not, and the caller looks at rows that were held out.
#pragma once

#include <optional>
#include <vector>

#include "exhume/base/control.h"
#include "exhume/data/samples.h"
#include "exhume/fit/deep/form.h"
#include "exhume/fit/deep/found.h"

namespace exhume {

struct DeepSearchOptions {
  Index depth = 2;  // hidden layers
  std::optional<std::vector<Index>>
      widths;          // of the network, where known: students begin at three times these
  Matrix first_layer;  // k x (d+1): where known, up to scale and sign; two hidden layers only. Empty: find it
  std::uint64_t seed = 0;
  Index first_width = 24;  // of the first student's layers
  Index most_width = 768;  // students do not grow beyond
  double exact = 1e-19;    // relative mean squared residual below which a fit is on its way to rounding
  // How much structure there is in what a network leaves of the rows, over what noise would show: up to 1 it looks like
  // noise. Without it rows have none.
  StructureLeft structure_left;
};

// Samples in standardised coordinates.
[[nodiscard]] DeepFound deep_search(const SampleSource& standard, const DeepSearchOptions& options,
                                    const Control& control);

}  // namespace exhume
