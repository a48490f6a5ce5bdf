// All kinks of a piecewise linear function along a line, from few queries.
//
//     g(t) = f(p + t v) in R^m,      g continuous, linear between kinks t_1 < t_2 < ...
//
// Bisection in theta, t = s0 tan(theta), so that kinks near and far are met in as few steps. An interval [a,
// b] with tangents at both ends (a second query at a share of its length inwards) is settled when
//
//     no kink    the tangent at a meets g(b), and both slopes agree
//     one kink   the tangents meet at t* in (a, b) in all outputs, and g follows the left one just before t*
//                and the right one just after
//
// Looking at t* alone would not do: where t* falls before the first of two kinks the value fits. Otherwise
// the interval is halved; its parts inherit tangents as long as those are short enough for them. All
// intervals of a level go out in one batch. About 8 queries per kink.
//
// Tolerances follow the noise of the answers, which comes with them.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <vector>

#include "extract/space.h"

namespace exhume {

// A line has more kinks than any network within reach: rounding, steps or curvature look so.
class TooManyKinks : public std::runtime_error {
 public:
  explicit TooManyKinks(std::size_t open);
};

struct LineOptions {
  double scale = 1;               // s0
  double low = -1e4, high = 1e4;  // of t
  int intervals = 32;             // to begin with
  double narrowest = 1e-7;        // in theta: kinks closer than that are given up
  double tangent = 1e-3;  // length of a tangent as a share of its interval; longer where answers are noisy
};

struct LineKinks {
  std::vector<double> at;  // increasing
  int given_up = 0;        // intervals that stayed open
};

// g at the points queried, and how far each answer may be off.
using AskLine = std::function<NoisyAnswers(const std::vector<double>& t)>;
// Throws TooManyKinks where more than 4096 intervals stay open at once, before they are queried, or more
// than 2048 kinks are found.
[[nodiscard]] LineKinks kinks_on_line(const AskLine& ask, const LineOptions& options);

}  // namespace exhume
