// Rows along each hidden unit of the only layer: do the outputs bend where the unit says, and by as much?
//
//     z_i = w.x_i + b,   r_i = y_io - (f_o(x_i) - a_o s(z_i))         rows i; o: where the unit acts most
//     at_k = sum_i p_ik z_i / sum_i p_ik,   mean_k of r_i and own_k of a_o s(z_i) in the same way
//
// Nodes t_k lie evenly over the mean of z -+ 3 standard deviations, as far as there are rows. p_ik shares a
// row between the two nodes beside its z, which keeps every number continuous in the weights: other last bits
// of a weight give other last bits here, and nothing else. Where the network is right, mean is own.
#pragma once

#include <vector>

#include "exhume/activation.h"
#include "exhume/network.h"
#include "exhume/result.h"

namespace exhume {

// Of the first units of `network`, at most kProfiledUnits. x: n x d, y: n x m. None where z does not vary.
inline constexpr Index kProfiledUnits = 12, kProfileNodes = 33;
[[nodiscard]] std::vector<HingeProfile> hinge_profiles(const Network& network, const Rectifier& rectifier,
                                                       const Eigen::Ref<const RowMatrix>& x,
                                                       const Eigen::Ref<const RowMatrix>& y);

}  // namespace exhume
