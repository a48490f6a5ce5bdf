// Move: units of the last hidden layer told by the directions of their jumps, where there are three outputs
// or more.
//
//   needs     several outputs; planes of the first layer with their signs, and sharp kinks above them
//   asks      2 queries per unknown and output, and lines to where most is left: some 8 queries per kink
//   time      a polish of two layers
//   changes   planes, kinks and sample; the network, exact, where two hidden layers answer all queries
#pragma once

#include "extract/hypothesis.h"
#include "extract/moves/find_planes.h"

namespace exhume {

// Three outputs or more tell units apart.
[[nodiscard]] bool jumps_tell_units(const LayerSearch& search);

// Two hidden layers in a box (extract/moves/two_layers_in_box.h), polished on the far places asked. Sets the
// widths found where there are two layers, whether or not the network is exact.
bool find_box_network(LayerSearch& search);

// Units of the first layer that are on at all queries so far: lines to the corners of the box where they
// would switch.
void find_planes_in_corners(LayerSearch& search, const PlanesOptions& lines);

// Two hidden layers whose first is known with its signs: the kinks of the second alone give its rows. Where
// queries are left unanswered, lines lead to them.
bool find_two_layers(LayerSearch& search, const PlanesOptions& lines);

// From the random queries that are answered best to those that are answered worst: a unit that is missing
// bends f in between. Only lines that were not drawn before.
[[nodiscard]] std::vector<Segment> lines_to_worst(LayerSearch& search);

}  // namespace exhume
