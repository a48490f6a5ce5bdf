// Rows that were kept with a probability proportional to f: the oracle of the paper's B.6.
//
// Where thresholds are so high that f is hardly ever large, one may be able to sample where it is: draw x
// from a Gaussian, keep it with probability f(x)/bound, f >= 0. Kept rows have the density f phi/E[f], so
// with no output at all
//
//     E_kept[He_p(x)] = E[f He_p(x)]/E[f]
//
// are the moments of step 1, up to one factor, and importance weights 1/f give back the Gaussian,
//
//     E[g(x)] = E_kept[g(x)/f(x)] / E_kept[1/f(x)]
//
// from which mean and covariance of the inputs are known, and E_kept[(1 - q/f) He_p] with q a polynomial of
// degree below p: the same moments with less noise.
//
// For a sigmoid far below its threshold u(a) ~ e^(a - t), and e^(w.x) phi(x) is a Gaussian with its mean
// moved to w: kept rows are close to a mixture of unit Gaussians with means w_i.
#pragma once

#include <cstdint>
#include <optional>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"
#include "moments/moments.h"

namespace exhume {

// Mean and covariance of (x, f) before rows were thrown away, by weights 1/f. Throws DataError naming the
// first row with f <= 0.
[[nodiscard]] SecondMoments unbiased_second_moments(const SampleSource& kept, const Control& control);

struct BiasedDirections {
  Matrix directions;       // d x found, unit columns, sign open
  Vector singular_values;  // of the stacked moments
  double noise_floor = 0;
};
// Rank-one elements of the span of E_kept[He_p], p = 2, 3, 4; inputs standard before rows were thrown away.
[[nodiscard]] BiasedDirections biased_directions(const SamplePtr& kept, std::optional<Index> hidden,
                                                 std::uint64_t seed, const Control& control);

}  // namespace exhume
