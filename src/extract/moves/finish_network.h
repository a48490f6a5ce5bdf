// Move: from layers whose outputs are explained to a network to the last digits.
//
//   needs     layers that leave little of the variance (nearly_explained)
//   asks      2 queries per unknown and output in all, where pairs of units act that did so at few of them,
//             and outside the inputs themselves 400 climbs (extract/climb.h)
//   time      Gauss-Newton steps of p^2 n m operations, at most 60 per polish and within its limit of
//             operations
//   changes   the sample; the network, exact and plain where it ends at rounding. Where earlier queries are
//             answered wrongly after all, these join the sample, and the network is kept as the nearly right
//             one
#pragma once

#include "extract/hypothesis.h"

namespace exhume {

// Nearly all is explained, and rows say little of some units: signs may tell more.
[[nodiscard]] bool is_nearly_explained(const LayerSearch& search);

// The move. last: networks with skip terms are tried too.
bool finish_network(LayerSearch& search, bool last);

}  // namespace exhume
