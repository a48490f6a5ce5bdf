// A picture of a network's layers as inline SVG: columns of units, lines by weight.
//
//   inputs | hidden layer 1 | ... | outputs        orange: positive, blue: negative; stronger is darker
//
// At most `max_units` circles per column, those that matter most, in their order; the others are counted. At
// most kMostLines lines between two columns, the strongest, each measured by the largest of its layer: rows
// of hidden units have unit norm first, so that a unit's scale does not show. Skip terms are said, not drawn.
#pragma once

#include <string>
#include <vector>

#include "exhume/network.h"
#include "exhume/types.h"

namespace exhume::svg {

struct NetworkPicture {
  struct Column {
    Index units = 0;  // all of them
    Index shown = 0;  // circles
  };
  struct Line {
    Index from = 0, to = 0;  // circles of the column and of the next, from 0
    double weight = 0;       // over the largest of the layer: in [-1, 1]
  };
  std::string title{};                     // for screen readers
  std::vector<Column> columns{};           // inputs, hidden layers, outputs
  std::vector<std::vector<Line>> lines{};  // between column l and l + 1, weakest first
  bool skips = false;
  double width = 640;
};

inline constexpr Index kMostLines = 500;

[[nodiscard]] NetworkPicture picture_of(const Network& network, Index max_units = 40);
// Lines that lead nowhere, and weights that are not finite, are left out.
[[nodiscard]] std::string draw(const NetworkPicture& picture);

}  // namespace exhume::svg
