// Are x and -x equally likely? A test on the inputs alone.
//
// A distribution is symmetric about zero exactly where the imaginary part of its characteristic function,
// E sin(u.x), vanishes for every u. Take D directions u_r, the axes (64 at most) and 32 random ones, in units
// of the root mean square of every input, and g_r(x) = sin(u_r.x). Then
//
//     S = n  gbar^T C^-1 gbar,    gbar = mean of g,    C = mean of g g^T
//
// is chi-squared with D degrees of freedom for large n if the inputs are symmetric: given the rows up to
// sign, gbar is a sum of independent fair signs with covariance C / n exactly, and g is bounded, so heavy
// tails do no harm. The threshold is exceeded by chance twice in ten million times (base/limits.h). Symmetric
// alternatives to zero: the same about the mean of the inputs.
#pragma once

#include <cstdint>
#include <string>

#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

struct SymmetryTest {
  double statistic = 0;
  double threshold = 0;
  Index degrees = 0;      // D
  double about_mean = 0;  // the statistic for x - mean
  [[nodiscard]] bool holds() const { return statistic <= threshold; }
  [[nodiscard]] bool holds_about_mean() const { return about_mean <= threshold; }
  [[nodiscard]] std::string words() const;  // one sentence with the statistic and the remedy
};

// D is at most a twentieth of the rows. O(n D (d + D)), two passes.
[[nodiscard]] SymmetryTest test_symmetry(const SampleSource& samples, std::uint64_t seed,
                                         const Control& control);

}  // namespace exhume
