// Exact recovery for any inputs and few units (paper rectified, Algorithms 1 and 2).
//
// Outputs without noise, Y = f(XW^T) A^T (n x m) of rank k, so that the columns of f(XW^T) are in the column
// space of Y, with basis B (n x k). For every sign pattern S of that space (patterns.h) the unit behind it,
// if there is one, is
//
//     w, z   with   x_j.w = B_j.z >= 1   for j in S
//                   B_j.z = 0 >= x_j.w   elsewhere
//                   B z   not in the span of the outputs of the units found
//
//     X: n x d     Y: n x m     W: k x d     A: m x k     no biases, no constant
//
// The equations are solved first (null vectors of the active set, to rounding); where they leave more than
// one direction, a linear program decides, with the independence constraint turned into up to 2n programs
// (Remark 1). k units make a network: A by regression. No assumption on X. O(n^(k-1)) patterns: for k up to
// 3 or 4.
//
// A network is found whenever there is one; it is *a* network that reproduces the samples, unique only where
// they are rich enough. Refuses where rank(Y) < k: then the problem is NP-hard (Section 3; hardness.h).
#pragma once

#include "exhume/control.h"
#include "model/rectified_network.h"
#include "routes/rectified/patterns.h"

namespace exhume {

enum class AnyInputsOutcome {
  kExact,
  kRankDeficient,  // rank(Y) < k
  kRankExceeded,   // rank(Y) > k: noise or more units
  kNoNetwork,      // all patterns tried: no network of k units without biases reproduces the samples
  kBudget,         // patterns or time ran out
};

struct AnyInputsFit {
  AnyInputsOutcome outcome = AnyInputsOutcome::kNoNetwork;
  Network network;
  Index rank = 0;
  Index patterns = 0;  // enumerated
  Index programs = 0;  // linear programs solved
  double relative_mse = 1;
};

[[nodiscard]] AnyInputsFit recover_any_inputs(const Eigen::Ref<const RowMatrix>& x,
                                              const Eigen::Ref<const RowMatrix>& y, Index hidden,
                                              const PatternBudget& budget, const Control& control);

}  // namespace exhume
