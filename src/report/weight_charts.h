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
[[nodiscard]] std::string draw(const Images& images);

// value ± reach, one per line, over one axis with a line at zero. Those that reach over zero are dashed.
struct Forest {
  std::string title{}, label{};
  std::vector<std::string> names{};
  std::vector<double> values{}, reaches{};  // as many; what is not finite is left out
  double width = 520;
};
[[nodiscard]] std::string draw(const Forest& forest);

}  // namespace exhume::svg
