// Several hidden layers of smooth units (tanh, GELU and others) from samples alone, widths found on the way.
//
//     h_0 = x,   h_l = sigma(W_l h_{l-1} + b_l),   f(x) = A h_D + c            sigma: of the activation table
//
//     students of half as many units again, plain form -> polish of all layers -> units folded -> every one
//     tried
//
// No kinks and no free scales: the plain form is polished at once, without signs to be found. The student is
// wider than the network, and an exact one then has units that others replace: with alpha the regression of
// h_j on the other units of its layer and a constant,
//
//     h_j = sum_i alpha_i h_i + beta,    W_{l+1} gets alpha times its column j,    unit j goes
//
//     cost_j = mean of sum_o (d f_o / d h_j)^2 (h_j - sum_i alpha_i h_i - beta)^2
//
// which is nothing for units that are double, constant or that nothing stands on. Every fold is confirmed by
// a polish. What remains is irreducible in Fefferman's sense (Reconstructing a neural net from its output,
// Revista Matematica Iberoamericana 10, 1994): networks of tanh units of this kind with the same function are
// the same up to the order and the signs of their units.
//
// Which sigma: a short student of each, longer ones of those that do best; only the right one becomes exact.
#pragma once

#include <string>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/deep/found.h"

namespace exhume {

// Samples in standardised coordinates. activation: "auto", or a name of the table. Of the options depth,
// widths, seed and exact are read.
[[nodiscard]] DeepFound search_smooth_layers(const SampleSource& standard, const std::string& activation,
                                             const DeepSearchOptions& options, const Control& control);

}  // namespace exhume
