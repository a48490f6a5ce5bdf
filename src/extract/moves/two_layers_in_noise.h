// Move: two hidden layers from answers of few digits (single precision, or printed with 6 to 9 digits).
//
//   needs     the noise of answers (extract/moves/probe.h), a whole space
//   asks      about 1000 queries per line, 4 s + 100 per kink on it, 70 per pair of a unit and one below
//             it, and
//             12 per unknown and output for the last fits
//   time      least squares of k_1 + s unknowns per unit, and a polish of two layers
//   changes   nothing: the network is returned, or why there is none
//
//     f(u) = A max(W_2 h + b_2, 0) + c,     h = max(q, 0),     q = diag(s) V (u, 1)
//
//   1. kinks of lines with their error bars (extract/noisy_kinks.h). Each is followed along its plane, from
//      near
//      to far, and the plane fitted again to the places where it was met. One that bends f wherever f
//      changes is
//      a row of V, a unit of the first layer; the others are kinks of units above.
//   2. a unit above is z = g.u + beta on a piece, and g changes by kappa_i w_i where it crosses plane i. Its
//      surface is followed across planes until all kappa_i are known: just beyond a crossing the kink is
//      looked
//      for on a line along which the jump of f is the same as before, and then far out on the new piece. All
//      places met give (kappa, r, beta) at once by weighted least squares.
//   3. signs s of the first layer: r = sum_i kappa_i s_i w_i / 2 for all units together; rows of W_2 from the
//      places once more; units met twice are joined.
//   4. outputs and signs of the second layer by least absolute deviations on random queries, then a polish
//      of all
//      weights. Where answers are wrong by more than the noise, a unit is missing, and lines lead there.
//
// Depth. Of one hidden layer all kinks are those of planes. Of three and more, surfaces break where no
// plane is.
#pragma once

#include <cstdint>
#include <string>

#include "extract/noisy_kinks.h"
#include "model/form.h"

namespace exhume {

// How many of a line's kinks follow a plane all along, and how many do not: lines of a space, until enough of
// either are seen.
struct DepthInNoise {
  Index planes = 0, broken = 0;
  // More than one hidden layer.
  [[nodiscard]] bool is_deep() const { return broken >= 2 && 4 * broken >= planes; }
};
[[nodiscard]] DepthInNoise tell_depth_in_noise(const Space& space, std::uint64_t seed);

struct NoisyLayers {
  DeepForm form;        // plain, in inputs; empty where none was found
  double left = 1;      // root mean square of what it leaves of the sample, over the noise
  double spread = 1;    // of the inputs of the sample, where there is no box
  std::string missing;  // why there is none, one sentence
};
[[nodiscard]] NoisyLayers find_two_layers_in_noise(const Space& space, std::uint64_t seed);

}  // namespace exhume
