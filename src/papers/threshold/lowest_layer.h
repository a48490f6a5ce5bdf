// The lowest layer under anything (paper threshold, made practical).
//
//     f(x) = P(u(w_1.x - t_1), ..., u(w_k.x - t_k)),    x Gaussian,   u = ReLU, sign or sigmoid,   P unknown
//
// Step 1, directions to about 0.05 (Theorem 1, Claim 2): where thresholds are high,
//
//     E[f He_p(x)]  ~  sum_i c_i u_p w_i^(x)p
//
// up to products of units, which are rare. From these moments by one of three methods
// (papers/threshold/step_one.h), or from rows that were kept with a probability proportional to f
// (papers/threshold/biased.h).
//
// Step 2 (Theorem 5): each unit on the rows where it is alone (papers/threshold/alone.h, unit_fit.h):
// Gauss-Newton through a kink, a band regression and the maximum margin at a step; thresholds come with the
// directions. Activity that no unit explains leads to further units: the moments once more, of the rows on
// which all known units are off. Sigmoids are never alone: they are fitted together, under products of two
// (papers/threshold/sigmoid_fit.h).
//
// The result says how far the assumptions hold. Below them it is uncertified, and the reason names the first
// that fails.
//
// Inputs are standardised first, by the rows that are not held out, so any Gaussian will do. One output.
// Cost: some forty passes of O(n d^3) for the moments, then ten of O(n d k).
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "papers/threshold/layer.h"

namespace exhume {

// Throws DataError where there are several outputs, one input or too few rows, std::invalid_argument,
// Interrupted.
[[nodiscard]] LowestLayerResult lowest_layer(const SamplePtr& samples, const LowestLayerOptions& options,
                                             const Control& control = {});

// u(Wx - t) at every row of x, rows x k: what the rest of the network is to be fitted on (Appendix E).
[[nodiscard]] RowMatrix lowest_layer_features(const Matrix& W, const Vector& t, LowestActivation activation,
                                              const Eigen::Ref<const RowMatrix>& x);

// The mean output along every direction, counted from its threshold, in bins of 0.1: a unit that is one bends
// or jumps at 0. Of at most eight units; bins of fewer than 20 rows are left out.
struct UnitProfile {
  std::vector<double> at, mean;  // w.x - t, mean of y
};
using UnitProfiles = std::vector<UnitProfile>;
[[nodiscard]] UnitProfiles unit_profiles(const LowestLayer& layer, const SampleSource& samples,
                                         const Control& control = {});

}  // namespace exhume
