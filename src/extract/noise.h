// How far answers are from the function itself: rounding, inside the oracle and of what it gives out.
#pragma once

#include <algorithm>

namespace exhume {

// An answer y is off by at most relative * max(|y|, typical) + absolute, give or take a small factor.
struct AnswerNoise {
  double relative = 4e-16;
  double absolute = 0;
  double typical = 0;  // size of the terms that outputs are made of, near the middle of the domain

  [[nodiscard]] double at(double size) const { return relative * std::max(size, typical) + absolute; }
};

}  // namespace exhume
