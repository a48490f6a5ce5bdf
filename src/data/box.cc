// What inputs may be (exhume/oracle.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "exhume/oracle.h"

namespace exhume {

Box Box::of(const Vector& lows, const Vector& highs) {
  Box out;
  if (lows.size() > 0 && lows.size() == highs.size() && (lows.array() == lows(0)).all() &&
      (highs.array() == highs(0)).all()) {
    out.low = lows(0);
    out.high = highs(0);
  } else {
    out.lows = lows;
    out.highs = highs;
  }
  return out;
}

void Box::validate(Index inputs) const {
  validate();
  if (per_input() && lows.size() != inputs) {
    throw std::invalid_argument(
        fmt::format("ends are given for {} inputs, but there are {}", lows.size(), inputs));
  }
}

std::string Box::words() const {
  if (!per_input()) return fmt::format("between {:g} and {:g}", low, high);
  constexpr Index kShown = 3;
  std::string some;
  for (Index n = 0; n < std::min(kShown, lows.size()); ++n)
    some += fmt::format("{}input {}: {:g} to {:g}", n == 0 ? "" : ", ", n + 1, lows(n), highs(n));
  return fmt::format("between their own ends each ({}{})", some, lows.size() > kShown ? ", ..." : "");
}

void Box::validate() const {
  if (per_input() || highs.size() > 0) {
    if (lows.size() != highs.size()) {
      throw std::invalid_argument(fmt::format(
          "there are {} low ends of inputs and {} high ones; give as many", lows.size(), highs.size()));
    }
    for (Index n = 0; n < lows.size(); ++n) {
      if (std::isfinite(lows(n)) && std::isfinite(highs(n)) && lows(n) <= highs(n)) continue;
      throw std::invalid_argument(
          fmt::format("input {} from {} to {} has no range; give a low end and a larger "
                      "high end",
                      n + 1, lows(n), highs(n)));
    }
    if (!(lows.array() < highs.array()).any())
      throw std::invalid_argument("all inputs are fixed: the domain is a single point");
    return;
  }
  const bool neither = std::isinf(low) && low < 0 && std::isinf(high) && high > 0;
  const bool both = std::isfinite(low) && std::isfinite(high) && low < high;
  if (neither || both) return;
  throw std::invalid_argument(fmt::format(
      "inputs from {} to {} are no box; give a low end and a larger high end, or neither", low, high));
}

}  // namespace exhume
