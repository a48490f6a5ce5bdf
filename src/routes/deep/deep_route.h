// The route to several hidden layers.
#pragma once

#include "routes/route.h"

namespace exhume {

[[nodiscard]] Route deep_route();

// Relative mean squared residual below which a network reproduces the training rows: outputs that were
// rounded leave that much where it is right.
[[nodiscard]] double exact_level(Prepared& data);

}  // namespace exhume
