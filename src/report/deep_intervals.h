// The weights of an estimated network of several hidden layers with their intervals, a chart a layer.
#pragma once

#include "base/json.h"
#include "exhume/result.h"

namespace exhume {

// A section of the page (report/sections.h); null where there are no standard errors.
[[nodiscard]] Json deep_intervals(const Result& result);

}  // namespace exhume
