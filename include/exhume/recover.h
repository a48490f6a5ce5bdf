// Samples in, network out, with the truth about it.
//
//   samples -> standardise -> start -> polish -> prune, signs -> held-out check -> result
//
// Between a tenth and a fiftieth of the rows is held out and never touched by fitting. Routes are tried whose
// conditions hold; the result says what was found, by which route, how far the held-out rows confirm it, and
// what was assumed: certified, estimated or uncertified.
//
// Any depth: one hidden layer first, then two, then three, while structure is left and time remains. The
// first result that is certified, estimated or refused ends the search; where none is, the one returned is
// the shallowest of those that do best on the held-out rows.
#pragma once

#include "exhume/control.h"
#include "exhume/options.h"
#include "exhume/result.h"
#include "exhume/samples.h"

#pragma GCC visibility push(default)
namespace exhume {

// Recovers the network behind `samples`. Throws DataError where the data cannot be used at all (constant
// column, too few rows), std::invalid_argument for bad options, Interrupted.
[[nodiscard]] Result recover(const SamplePtr& samples, const RecoverOptions& options,
                             const Control& control = {});

}  // namespace exhume
#pragma GCC visibility pop
