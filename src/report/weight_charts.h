// Charts of weights as inline SVG (report/svg.h): rows of W as images, and weights with their intervals.
#pragma once

#include <string>
#include <vector>

#include "exhume/types.h"

namespace exhume::svg {

// Matrices side by side, each on its own scale from one colour through the background to another: what units
// look for where the inputs are pixels.
struct Images {
  std::string title{};
  std::vector<Matrix> images{};         // of one shape
  std::vector<std::string> captions{};  // as many, or none
  double width = 1080;
};
[[nodiscard]] std::string draw(const Images& pictures);

// value ± reach, one per line, over one axis with a line at zero. Those that reach over zero are dashed. None
// is drawn beyond its limit: an entry of a row of norm 1 is no larger than 1.
struct Forest {
  std::string title{}, label{};
  std::vector<std::string> names{};
  std::vector<double> values{}, reaches{};  // as many; what is not finite is left out
  std::vector<double> limits{};             // of |value|, as many, infinite where there is none; or none
  double width = 520;
};
[[nodiscard]] std::string draw(const Forest& forest);

}  // namespace exhume::svg
