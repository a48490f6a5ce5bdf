// What is asked of the search for a network of several hidden layers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fit/deep/found.h"

namespace exhume {

struct DeepSearchOptions {
  Index depth = 2;  // hidden layers
  std::optional<std::vector<Index>>
      widths;          // of the network, where known: students begin at three times these
  Matrix first_layer;  // k x (d+1): where known, up to scale and sign; two hidden layers only. Empty: find it
  std::uint64_t seed = 0;
  Index first_width = 24;  // of the first student's layers
  Index most_width = 768;  // students do not grow beyond
  double exact = 1e-19;    // relative mean squared residual below which a fit is on its way to rounding
  // How much structure there is in what a network leaves of the rows, over what noise would show: up to 1 it looks like
  // noise. Without it rows have none.
  StructureLeft structure_left;
};

}  // namespace exhume
