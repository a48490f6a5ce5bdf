// The number of hidden layers, found by trying them in turn.
//
//     one hidden layer  ->  two  ->  three           while structure is left and time remains
//
// Every depth but the last may do a share of the work that the budget stands for, counted in operations
// (Control::spend). So what is found does not depend on how fast the machine is, unless time ends it.
#pragma once

#include "exhume/control.h"
#include "exhume/options.h"
#include "exhume/result.h"
#include "exhume/samples.h"

namespace exhume {

// The network of a given depth: options.depth() is a number.
[[nodiscard]] Result recover_at_depth(const SamplePtr& samples, const RecoverOptions& options,
                                      const Control& control);

// The first depth whose result is certified, estimated or refused; where there is none, the shallowest of
// those that do best on the held-out rows.
[[nodiscard]] Result recover_any_depth(const SamplePtr& samples, const RecoverOptions& options,
                                       const Control& control);

}  // namespace exhume
