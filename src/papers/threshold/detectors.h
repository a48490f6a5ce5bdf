// Detectors of a direction that need no linear terms and no high threshold (paper threshold, Section 3 and
// C.1; Theorem 7).
//
// Correlations of f with derivatives of the Dirac delta at z.x = s, as differences of slab averages
//
//     m_j = mean of f over s + j e <= z.x < s + (j+1) e,     j = -2, -1, 0, 1
//
//     delta'    sign units   value = 2 J(e) - J(2e),  J(e) = m_0 - m_-1,  J(2e) = (m_1 + m_0 - m_-1 - m_-2)/2
//     delta''   ReLU units   value = ((m_1 - m_0) - (m_-1 - m_-2))/e,    the change of slope at s
//
// A jump stays in J(e) as e -> 0 while a smooth f gives J ~ e, which 2 J(e) - J(2e) takes away. The paper's
// C_2 and C_3 are these times phi(s). If z = w_i and s = t_i the value is E[dP/dX_i | w_i.x = t_i] up to
// O(e); at an angle a >> e from all units it is O((e/a)^2) and O(e/a). The standard error is that of the four
// means, each over about n phi(s) e rows, so a unit is seen at `score` sigma from
//
//     n >= score^2 * 5 Var(f | slab) / (phi(s) e value^2)          rows, delta'
//     n >= score^2 * 4 Var(f | slab) / (phi(s) e^3 value^2)        rows, delta''
//
// Assumes standard Gaussian inputs and one output. One pass for any number of directions, O(n d) each.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

enum class Detector { kStep, kKink };

struct Detection {
  Vector value;  // one a direction
  Vector error;  // standard errors
  [[nodiscard]] Vector score() const { return value.cwiseQuotient(error); }
};
// Directions: d x q unit columns; s: where the threshold is suspected, one a direction.
[[nodiscard]] Detection detect(const SampleSource& samples, Detector detector, const Matrix& directions,
                               const Vector& s, double width, const Control& control = {});

// A local search: |value| less two standard errors climbed from z by a pattern search over the sphere and s,
// 6d - 4 neighbours per pass, no further than two first steps; where the score stays below 6, once more with
// twice the first step, then with half of it. Slabs start twice as wide as the steps, since at an angle a a
// jump is smeared over about a, and narrow to `width` with them. A kink is found so only where its change
// of slope outweighs the curvature of f along z, 2 f'' e. The score of what is found, value/error, tells
// whether it is a unit: above 6, say.
struct DetectorSearch {
  double width = 0.1;       // e
  double first_step = 0.2;  // radians
  double last_step = 0.01;
  int max_passes = 60;
};
struct Detected {
  Vector direction;
  double threshold = 0, value = 0, error = 0;
  int passes = 0;
};
[[nodiscard]] Detected climb_detector(const SampleSource& samples, Detector detector, const Vector& z,
                                      double s, const DetectorSearch& options = {},
                                      const Control& control = {});

}  // namespace exhume
