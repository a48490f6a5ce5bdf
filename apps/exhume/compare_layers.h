// Two networks of several hidden layers beside each other: what `compare` says of every layer.
#pragma once

#include <string>

#include "base/json.h"
#include "exhume/network.h"

namespace exhume::cli {

struct LayerComparison {
  Alignment alignment;
  Network first, second;  // in canonical form, so without units that do nothing
};

// "10 → 20 → 20 → 1", and whether there are skip terms.
[[nodiscard]] std::string shape_of_layers(const Network& network);
// Units of every layer, outputs last.
[[nodiscard]] Json units_of_layers(const Network& network);
// One line a layer: its units and its worst error.
[[nodiscard]] std::string layers_as_text(const LayerComparison& comparison);
// One object a layer; none where the networks cannot be compared.
[[nodiscard]] Json layers_as_json(const LayerComparison& comparison);

}  // namespace exhume::cli
