// Networks of ReLUs in the names that other programs give their weights.
//
//   W1, b1, W2, b2, ..., W<n>, b<n>                      numbered
//   0.weight, 0.bias, 2.weight, 2.bias, ...          a state dict of PyTorch: any one text before the number
//   fc1.weight, fc1.bias, fc2.weight, ...                of all layers the same, numbers in their own order
//
// Every weight is (units of this layer) x (units below), as PyTorch has it; a bias that is not there is zero.
// ReLUs stand between the layers and none behind the last: the names cannot say so, whoever gives the file
// does.
#pragma once

#include <string>

#include "exhume/network.h"
#include "io/tensors.h"

namespace exhume {

// Whether all arrays have names of one of these forms.
[[nodiscard]] bool has_weight_names(const Tensors& tensors);

// Throws DataError unless the names are of one form, the shapes fit and every entry is finite.
[[nodiscard]] Network network_of_weights(const Tensors& tensors, const std::string& file);

}  // namespace exhume
