// Move: the network within a random subspace of few dimensions, taken for one of a single hidden layer.
//
//     f(x0 + B^T u) = sum_j c_j |w_j.u + b_j| + L u + e      u: s    w_j: s, unit norm    c_j: m    L: m x s
//
//   needs     the noise of answers (extract/moves/probe.h)
//   asks      about k (8 + s + 2) + 2 k (s + 1 + m) / m queries
//   time      a polish of k (s + 1) unknowns per line that shows a unit
//   changes   nothing: the network is returned, or that it is deeper
//
//   1. all kinks along a line (extract/line.h); Jacobians in the gaps (extract/jacobian.h). At the kink t_j
//      the Jacobian jumps by the rank-one matrix 2 c_j w_j^T, and w_j.(p + t_j v) + b_j = 0.
//   2. the polish (fit/polish.h) on random queries that meet every plane on both sides, twice as many
//      equations as unknowns; then the last digits (extract/moves/sharpen_single_layer.h).
//      A unit of a single hidden layer bends f by 2 c_j wherever its plane is met; where most do not, the
//      network is deeper, and that is all that is said.
//   3. units that the line did not show are kinks of what is left, along further lines: to the random
//      query at which most is left, or anywhere, until nothing is left and a line shows none.
#pragma once

#include <cstdint>
#include <vector>

#include "extract/space.h"
#include "model/separable_model.h"

namespace exhume {

struct SingleLayerOptions {
  std::uint64_t seed = 0;
  AnswerNoise noise;
  double farthest = 400;  // how far a line leads where there is no box, in units of its scale
  int most_lines = 60;
  double fit_share = 2;  // equations of the polish per unknown
};

struct SingleLayer {
  SeparableModel model;  // sign-free, in the subspace's coordinates
  double scale = 1;      // distance within which the planes lie
  double worst = 0;      // largest |f - model| over the noise there, at the queries of the polish
  int lines = 0;
  bool complete = false;            // the last line showed no kink that the model has not
  bool deeper = false;              // units bend f by other amounts elsewhere: no single hidden layer
  std::vector<double> line, kinks;  // t of the first line's ends, and of its kinks
};

[[nodiscard]] SingleLayer find_single_layer(Meter& meter, const SingleLayerOptions& options);

}  // namespace exhume
