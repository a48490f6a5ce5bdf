// The number of hidden layers, found by trying them in turn.
//
//     one hidden layer  ->  two  ->  three           while structure is left and time remains
//
// Every depth ends by itself, by the work that it did in vain; the budget is one deadline for all of them. So
// what is found does not depend on how fast the machine is, unless the deadline ends it.
#pragma once

#include "exhume/control.h"
#include "exhume/options.h"
#include "exhume/result.h"
#include "exhume/samples.h"

namespace exhume {

// The network of a given depth: options.depth() is a number.
[[nodiscard]] Result recover_at_depth(const SamplePtr& samples, const RecoverOptions& options,
                                      const Control& control);

// A result that is certified, estimated or refused, the first that stands; otherwise the shallowest of those
// that do best on the held-out rows.
[[nodiscard]] Result recover_any_depth(const SamplePtr& samples, const RecoverOptions& options,
                                       const Control& control);

}  // namespace exhume
