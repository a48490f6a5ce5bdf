// Samples in, network out, its number of hidden layers found too.
//
//     one hidden layer (recover.h)  ->  two  ->  three           while structure is left and time remains
//
// A fifth of the time is for one hidden layer, where most data end; the deeper ones share the rest.
#pragma once

#include <variant>

#include "exhume/recover.h"
#include "routes/deep/deep.h"

namespace exhume {

using AnyDepth = std::variant<RecoverResult, DeepResult>;

// A result that is certified, estimated or refused, the first that stands; otherwise the one that does best on
// the held-out rows. Throws as recover() does.
[[nodiscard]] AnyDepth recover_layers(const SamplePtr& samples, const RecoverOptions& options,
                                      const Control& control = {});

}  // namespace exhume
