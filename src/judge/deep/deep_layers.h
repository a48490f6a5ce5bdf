// A network of several hidden layers before the judge.
//
//     h_0 = x,   h_l = max(W_l h_{l-1} + b_l, 0),   f(x) = A h_D + c      D >= 2 (exhume/network.h)
//
// Nothing is assumed of the inputs, and no theorem says that the search works: students, polish, pruning,
// signs (fit/deep/search.h). What stands behind a certificate is what the data show:
//
//     reproduced     every entry of training and held-out rows, to its stored precision
//     minimal        no unit of any layer can be removed: each was tried
//     plain          no skip terms are needed, and the signs of all units are determined
//     determined     the Jacobian has full rank, layer by layer (fit/errors.h)
//
// Noisy rows: instead of the first, what is left has to look like noise (certify/residual_look.h), no unit
// explains less than chance does, and every weight comes with its standard error: estimated.
//
// Without noise the samples are then those of this network, and the weights of any network of these widths
// near it follow from the function, up to order and scale of the units. Units that are linear or dead on all
// samples are not part of it, and where a rule fails the function is returned, uncertified, with that reason.
// Layers without units are left out of the network that is returned.
#pragma once

#include <memory>

#include "judge/judged_network.h"

namespace exhume {

// The same function without hidden layers of no units, down to one hidden layer: what the layer above such a
// one reads of the layer below it moves from its skip terms to its weights. Canonical where a layer went.
[[nodiscard]] Network without_empty_layers(const Network& network);

// `under` outlives it; what was found is a network of several hidden layers.
[[nodiscard]] std::unique_ptr<JudgedNetwork> deep_layers(const JudgeInput& input);

}  // namespace exhume
