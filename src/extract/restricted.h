// The network within a random subspace of few dimensions, from questions in it.
//
//     f(x0 + B^T u) = sum_j c_j |w_j.u + b_j| + L u + e      u: s    w_j: s, unit norm    c_j: m    L: m x s
//
//   1. all kinks along a line (extract/line.h); Jacobians in the gaps (extract/jacobian.h). At the kink t_j
//      the Jacobian jumps by the rank-one matrix 2 c_j w_j^T, and w_j.(p + t_j v) + b_j = 0.
//   2. the polish (fit/polish.h) on random questions that meet every plane on both sides, twice as many
//      equations as unknowns; then the last digits (extract/last_digits.h).
//      A unit of a single hidden layer bends f by 2 c_j wherever its plane is met; where most do not, the
//      network is deeper, and that is all that is said.
//   3. units that the line did not show are kinks of what is left, along further lines: to the random
//      question at which most is left, or anywhere, until nothing is left and a line shows none.
//
// About k (8 + s + 2) + 2 k (s + 1 + m) / m questions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "extract/noise.h"
#include "model/separable_model.h"
#include "oracle/meter.h"

namespace exhume {

struct RestrictedOptions {
  std::uint64_t seed = 0;
  AnswerNoise noise;
  double farthest = 400;  // how far a line leads where there is no box, in units of its scale
  int most_lines = 60;
  double fit_share = 2;  // equations of the polish for every unknown
};

struct Restricted {
  SeparableModel model;  // sign-free, in the subspace's coordinates
  double scale = 1;      // distance within which the planes lie
  double worst = 0;      // largest |f - model| over the noise there, at the questions of the polish
  int lines = 0;
  bool complete = false;            // the last line showed no kink that the model has not
  bool deeper = false;              // units bend f by other amounts elsewhere: no single hidden layer
  std::vector<double> line, kinks;  // t of the first line's ends, and of its kinks
};

[[nodiscard]] Restricted restricted_network(Meter& meter, const RestrictedOptions& options);

}  // namespace exhume
