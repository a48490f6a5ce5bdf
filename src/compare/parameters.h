// The largest difference of a parameter of two networks of one shape, up to the symmetries that do not change
// their function. Units are matched by optimal assignment, layer by layer, with rows of hidden units of unit
// norm (align of exhume/network.h).
#pragma once

#include "exhume/compare.h"

namespace exhume {

[[nodiscard]] NetworkComparison compare_parameters(const Network& first, const Network& second,
                                                   bool free_signs);

}  // namespace exhume
