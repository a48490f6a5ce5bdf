// The start of the polish that Algorithm 4 of paper depth2 gives (exhume/papers/depth2.h).
#pragma once

#include "exhume/papers/depth2.h"
#include "moments/hermite_tensors.h"
#include "papers/depth2/jennrich.h"

namespace exhume {

// A start for the polish: units of Algorithm 4 on plain moments, l = 1; l = 2 where there may be more than d
// units and at most kMostInputsOfOrder6 inputs. k x (d+1), rows (w_i, b_i), sign open.
[[nodiscard]] Matrix jennrich_start(const SamplePtr& standard, std::optional<Index> hidden,
                                    std::uint64_t seed, const Control& control);

}  // namespace exhume
