// The paper's own step 2: EstimateTanAlpha and RefineEstimate (Section 2.2, Algorithms 1 and 2, Theorem 5).
//
// For a direction z at angle a from w and monotone P with P > c_0 beyond it, the rows of a slab
// t' - e <= z.x <= t' have
//
//     Pr[active | slab at t'] ~ Phi((t' cos a - t)/sin a)                              (Lemma 4)
//     tan a ~ (t_2 - t_1)/(Phi^-1(0.6) - Phi^-1(0.4)),     t_1 < t_2 where it is 0.4 and 0.6
//
// found by bisection over t' on the rows sorted by z.x, e chosen so that a slab holds `slab_rows` rows.
//
// RefineEstimate perturbs z at random and keeps what lowers the angle. Errata: Algorithm 2 is missing from
// the paper's text; a step is to be kept where a' <= a (1 - 0.004/d), not where a' <= 0.01 a/d; Theorem 5 is
// about the angle. It needs some d log(1/error) successful perturbations and stops at the noise of the slabs;
// fit_step (unit_fit.h) takes the direction from the rows of the same slab and is the default.
#pragma once

#include <cstdint>

#include "exhume/types.h"
#include "papers/threshold/alone.h"

namespace exhume {

struct TanAlpha {
  double tan_alpha = 0;  // infinite where no slab reaches 0.6
  double t1 = 0, t2 = 0;
  double width = 0;  // of the slab at t2
};
// Rows with their activity (1 active, 0 at rest), as alone_rows gives them.
[[nodiscard]] TanAlpha estimate_tan_alpha(const AloneRows& rows, const RestLevel& rest, const Vector& z,
                                          Index slab_rows = 400);

struct RefineOptions {
  int perturbations = 400;
  double target = 0.01;  // radians
  Index slab_rows = 400;
  std::uint64_t seed = 0;
};
struct Refined {
  Vector direction;
  double angle = 0;  // estimated
  int accepted = 0, tried = 0;
};
[[nodiscard]] Refined refine_estimate(const AloneRows& rows, const RestLevel& rest, const Vector& z,
                                      const RefineOptions& options = {});

}  // namespace exhume
