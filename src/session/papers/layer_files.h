// The files of a lowest layer: units, their picture, features.
#pragma once

#include "exhume/papers/threshold.h"
#include "session/delivery.h"

namespace exhume {

// units.safetensors (W: k x d, t: k, and the activation) and units.svg, where the delivery writes; and what
// the picture shows.
[[nodiscard]] UnitProfiles add_layer(Delivery& delivery, const LowestLayer& layer,
                                     const SampleSource& samples, const Control& control);

// features.npy (rows x k: u(Wx - t)).
void write_features(AtomicFile& file, const LowestLayer& layer, const SampleSource& samples,
                    const Control& control);

}  // namespace exhume
