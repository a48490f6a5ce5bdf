// A network of several hidden layers from samples alone, its widths found on the way.
//
//     wide student -> merge -> polish of all layers -> prune until no unit can go -> signs -> plain polish
//
// Students start narrow and double until one is trained far enough that the polish, on all layers together,
// falls to rounding. Where one student leads nowhere another is trained: units of the first layer on which
// two students agree are the network's, and the layer above them is found by peeling (fit/deep/layers.h).
//
// Where a student that is wider or trained for longer does no better on rows that were not fitted, the rows
// are taken for noisy: the least network whose residuals chance explains (fit/deep/finish.h).
//
// A tenth of the rows is looked at but not fitted: a network with units too many may be exact on all rows it
// saw and on no others, and then the search goes on. Nothing here is proved. What is found is exact or it is
// not, and the caller looks at rows that were held out. Of the tenth, rows that an exact network is off on
// join the fit where they are few: they show a weight that the others leave open.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/deep/found.h"

namespace exhume {

// Samples in standardised coordinates.
[[nodiscard]] DeepFound deep_search(const SampleSource& standard, const DeepSearchOptions& options,
                                    const Control& control);

}  // namespace exhume
