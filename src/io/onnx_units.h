// Hidden units in ONNX graphs: the nodes that write an activation, and which activation nodes compute.
//
// Written: the operator of the table of activations where opset 13 has one; otherwise a few that make it
// (GELU is z (1 + erf(z / 2^(1/2))) / 2, SiLU z sigmoid(z)).
//
// Read: exporters write GELU and SiLU in many ways, so nodes are not matched but followed: every value that
// is computed entry by entry from z is kept as its values at fixed arguments, and at the end compared with
// the table. 1e-5 apart: constants are often single precision.
#pragma once

#include <optional>
#include <string>

#include "exhume/types.h"
#include "io/onnx_graph.h"
#include "io/onnx_model.h"

namespace exhume {

// Nodes from the value `z` to `h`; constants and values in between begin with h.
void write_units(OnnxGraph& graph, const std::string& activation, const std::string& z, const std::string& h);

// Where units are followed.
[[nodiscard]] const Vector& unit_arguments();
// What the operator of one input makes of values, entry by entry; nothing for an operator that is none.
[[nodiscard]] std::optional<Vector> followed(const OnnxNode& node, const Vector& values);
// The name of the activation with these values at the arguments; nothing where the table has none.
[[nodiscard]] std::optional<std::string> recognised_unit(const Vector& values);

}  // namespace exhume
