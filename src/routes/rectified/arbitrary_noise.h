// Noise of any distribution and size, independent of the inputs (paper rectified, Algorithm 8).
//
//     Y = A f(Wx) + E,     x standard normal after standardising     goal: |Y - fit|_F <= (1 + eps) |E|_F
//
// If mu is a row of a left inverse of A, then mu.y = f(w.x) + mu.E, and its sign, once E is smoothed by added
// normal noise g, is a noisy label of a halfspace of normal w (Plan and Vershynin):
//
//     label_q = sign(mu.y_q - median + g_q),     v = argmax_{|v| <= 1} sum_q label_q (v.x_q)
//                                                  = sum_q label_q x_q / |sum_q label_q x_q|
//
// The paper enumerates all k x O(k) left inverses. But the halfspace of row p depends on row p of the inverse
// only, so here candidate *rows* are enumerated, on the sphere of the sketched outputs, within a stated
// budget, and the best k of the resulting directions are chosen by regression: budget + C(budget', k) instead
// of budget^k. For k <= 2 the rows are uniform on the sphere and the choice is exhaustive; for larger k they
// lie around the spectral estimate (clipped outputs, order 2) and the choice is greedy with exchanges. Last,
// least squares over all parameters (fit/polish.h). Biases start at 0. Cost: O(n (d + s)) a candidate, s the
// size of the sketch, then one Gram matrix of all candidates.
#pragma once

#include <cstdint>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/rectified_network.h"

namespace exhume {

struct ArbitraryNoiseOptions {
  Index hidden = 1;
  Index budget = 400;         // candidate rows
  double smoothing = 1;       // sd of g over the interquartile range of mu.y
  Index sketch_per_unit = 4;  // the outputs are sketched to this many times k where they are more
  bool polish = true;
  std::uint64_t seed = 0;
};

struct ArbitraryNoiseFit {
  Network network;
  Index candidates = 0;      // distinct directions that came out of the budget
  Index chosen_from = 0;     // sets of k that were compared by regression
  double residual_norm = 0;  // |Y - fit|_F
  double relative_mse = 1;
};

[[nodiscard]] ArbitraryNoiseFit fit_arbitrary_noise(const SamplePtr& samples,
                                                    const ArbitraryNoiseOptions& options,
                                                    const Control& control);

}  // namespace exhume
