#include "routes/options.h"

#include <fmt/format.h>

#include <stdexcept>

namespace exhume {

const char* to_string(Finds finds) {
  switch (finds) {
    case Finds::kLowestLayer:
      return "lowest layer";
    case Finds::kDeepNetwork:
      return "deep network";
    default:
      return "network";
  }
}

void RouteOptions::validate() const {
  if (hidden && *hidden < 1)
    throw std::invalid_argument(fmt::format("hidden is {}, expected at least 1, or auto", *hidden));
  if (!(budget_seconds > 0))
    throw std::invalid_argument(fmt::format("budget is {} s, expected above 0", budget_seconds));
  if (!(leak >= 0 && leak < 1))
    throw std::invalid_argument(fmt::format("leak is {}, expected in [0, 1)", leak));
  if (candidates < 1)
    throw std::invalid_argument(fmt::format("candidates is {}, expected at least 1", candidates));
  if (most_patterns < 1)
    throw std::invalid_argument(fmt::format("most_patterns is {}, expected at least 1", most_patterns));
  if (!rectifier.phi || !rectifier.inverse)
    throw std::invalid_argument("the rectifier has no phi or no inverse; use make_rectifier");
}

}  // namespace exhume
