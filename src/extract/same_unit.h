// Kinks of one unit, told by their slopes, where the layer just below is known with its signs.
//
//     z = x.h(u) + b,     slope at a kink p:  g_p = t_p sum_{i on} x_i G_i,      x.h(u_p) + b = 0
//
// With no more units on at p than there are dimensions their slopes G_i are independent, and g_p gives x on them up to the factor
// t_p. Two kinks whose x agree on all units that are on at both, and whose constants agree, are of one unit of the next
// layer; a unit further up has another x wherever one in between switches. No question is asked.
#pragma once

#include <cstddef>
#include <vector>

#include "extract/known_layers.h"
#include "extract/planes.h"

namespace exhume {

// For every kink the others that are of its unit. plain: B, units just below x columns of a row (extract/follow.h).
[[nodiscard]] std::vector<std::vector<std::size_t>> kinks_of_one_unit(const KnownLayers& below,
                                                                      const Matrix& plain,
                                                                      const std::vector<UpperKink>& kinks);

// Signs of a layer from kinks above it, whose slopes are sums over its units that are on:
//
//     g_p = sum_{j: s_j sigma_pj = 1} x_j G_pj,      sigma_pj the side of the sign-free unit j, G_pj its slope
//
// The signs s with which most kinks are sums of fewest units: all are tried. Empty where kinks do not tell every sign, or there are
// too many units. below: the layers up to and with that one.
[[nodiscard]] Vector signs_by_sums(const KnownLayers& below, Index units,
                                   const std::vector<UpperKink>& kinks);

}  // namespace exhume
