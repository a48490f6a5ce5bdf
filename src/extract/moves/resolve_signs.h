// Move: the signs of a layer, from the Jacobians, from the rows above it, or from the kinks above it.
//
//   needs     planes, or units of a layer
//   asks      nothing
//   time      an SVD of the Jacobians; 2^k small least-squares fits per kink where k <= 12 units are signed
//             by kinks
//   changes   nothing but what it keeps of an expensive computation (Hypothesis::told)
//
// The first layer read off Jacobians, where it has no more units than there are inputs.
//
//     J = df/du = sum_{j on} B_j w_j^T        rows w_j independent: B = J W^+,   B_j = 0 where unit j is off
//
// So the side of a plane on which B_j vanishes is the one where its unit is off. What J has beyond the span
// of the rows belongs to units that are on at all queries, and whose planes were not met:
//
//     J - B W = sum_a b_a rho_a^T, w_a = rho_a + sum_j gamma_ja w_j, B_j = b gamma_j where j is off
//
// They switch, if anywhere, on the way to the corners of the box to which w_a and -w_a point.
//
// Kinks of one unit are told by their slopes, where the layer just below is known with its signs.
//
//     z = x.h(u) + b,     slope at a kink p:  g_p = t_p sum_{i on} x_i G_i,      x.h(u_p) + b = 0
//
// With no more units on at p than there are dimensions their slopes G_i are independent, and g_p gives x on
// them up to the factor t_p. Two kinks whose x agree on all units that are on at both, and whose constants
// agree, are of one unit of the next layer; a unit further up has another x wherever one in between switches.
#pragma once

#include <cstddef>
#include <vector>

#include "extract/hypothesis.h"

namespace exhume {

struct SignsFromJacobians {
  Vector signs;              // k: 1 where unit j is on at w_j.u + b_j > 0, else -1
  std::vector<Vector> left;  // w_a of units that are always on: one such is known, of several only the span
};
// V: k x (s+1), planes. Empty where there are more units than dimensions, or too few Jacobians.
[[nodiscard]] SignsFromJacobians signs_from_jacobians(const Matrix& V,
                                                      const std::vector<LocalLinear>& jacobians);

// Signs of a layer from kinks above it, whose slopes are sums over its units that are on:
//
//     g_p = sum_{j: s_j sigma_pj = 1} x_j G_pj,    sigma_pj the side of the sign-free unit j, G_pj its slope
//
// The signs s with which most kinks are sums of fewest units: all are tried. Empty where kinks do not tell
// every sign, or there are too many units. below: the layers up to and with that one.
[[nodiscard]] Vector signs_by_sums(const SignFreeLayers& below, Index units, const std::vector<Kink>& kinks);

// For every kink the others that are of its unit. plain: B, units just below x columns of a row
// (extract/moves/trace_unit.h).
[[nodiscard]] std::vector<std::vector<std::size_t>> group_kinks_by_unit(const SignFreeLayers& below,
                                                                        const Matrix& plain,
                                                                        const std::vector<Kink>& kinks);

// Rows of a layer's units after max(., 0), with the signs that the Jacobians, the units above or the kinks
// above tell; none where these are open.
[[nodiscard]] Matrix plain_rows_of(LayerSearch& search, std::size_t layer);

// All layers as a plain network (extract/moves/assemble_network.h); empty where signs are open.
[[nodiscard]] DeepForm network_of_layers(const LayerSearch& search);

}  // namespace exhume
