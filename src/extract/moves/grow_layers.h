// Move: units above the first layer, layer by layer, behind the kinks that nothing explains.
//
//   needs     planes of the first layer, and kinks that they do not explain
//   asks      some 12 queries per unit below for a kink that is traced (extract/moves/trace_unit.h), and 4 (s
//             + 2) per round for the check that f bends along the unit's surface, at most three rounds;
//             random queries for the fit of the outputs
//   time      that of the traces; per round of a check an SVD of (places + kinks s) x (K + s + 1)
//   changes   layers and units; kinks that led nowhere are noted in the evidence, and kinks join it that were
//             met where a surface broke at nothing known
#pragma once

#include <functional>

#include "extract/hypothesis.h"

namespace exhume {

// True where the layers explain the outputs. It ends between two kinks where `is_over` says so.
bool grow_layers(LayerSearch& search, const std::function<bool()>& is_over);

}  // namespace exhume
