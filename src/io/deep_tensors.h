// Networks of any depth as named arrays, in the names that Exhume writes.
//
//   one hidden layer   W, b, A, c and perhaps L                       as io/tensors.h has them, byte for byte
//   D >= 2 of them     layers.0.W, layers.0.b, layers.1.W, layers.1.b, ..., A, c: the output layer is (A, c)
//                      layers.1.L, ..., L: skip terms (model/deep_network.h), each only where there is one
//
// A network without hidden layers is written as one hidden layer of no units, L being its weights.
#pragma once

#include <string>

#include "io/tensors.h"
#include "model/deep_network.h"

namespace exhume {

// Throws std::invalid_argument for a network whose shapes do not fit.
[[nodiscard]] Tensors to_tensors(const DeepNetwork& network);

// Whether an array is called layers.<number>.W or layers.<number>.b.
[[nodiscard]] bool is_deep(const Tensors& tensors);

// From the names of any depth. Throws DataError unless the arrays are exactly those above, with shapes that
// fit, finite entries and ReLUs for units.
[[nodiscard]] DeepNetwork to_deep_network(const Tensors& tensors, const std::string& file);

// A network of at most one hidden layer as what one-layer files hold. Throws std::invalid_argument for more.
[[nodiscard]] Network to_one_layer(const DeepNetwork& network);

}  // namespace exhume
