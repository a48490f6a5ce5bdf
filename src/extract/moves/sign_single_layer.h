// Move: from the sign-free form of a single hidden layer to the network: signs, and the activation. Asks
// nothing.
//
//     f(x) = sum_j c_j |w_j.x + b_j| + L x + e
//
// Units max(z, alpha z) = (1 - alpha)/2 |z| + (1 + alpha)/2 z, so with a_j = 2 c_j / (1 - alpha)
//
//     L = rho sum_j xi_j c_j w_j^T,     rho = (1 + alpha) / (1 - alpha),     xi_j = +-1:
//
// the least-squares solution r of L = sum_j r_j c_j w_j^T has |r_j| = rho for all j. rho = 1: ReLU. rho = 0:
// absolute values. Otherwise leaky units, which are ReLUs and a linear term. Where the r_j are of different
// sizes L holds a linear term of the network's own, and signs are open.
//
// The normal matrix is (W W^T) o (C C^T), k x k: O(k^2 (d + m)).
#pragma once

#include <string>

#include "exhume/network.h"
#include "model/separable_model.h"

namespace exhume {

struct SignedNetwork {
  Network network;                  // of ReLUs; with a linear term where they are not the whole story
  std::string activation = "relu";  // relu, leaky relu, absolute value, or relu with a linear term
  double slope = 0;                 // alpha
  bool signs_identifiable = true;
  double mismatch = 0;  // | |r_j| - rho | at most, over max(rho, 1)
};

// tolerance: of r, as far as weights are known.
[[nodiscard]] SignedNetwork resolve_network_signs(const SeparableModel& model, double tolerance);

}  // namespace exhume
