// The shape of a network in words.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "exhume/network.h"
#include "report/rounded.h"

namespace exhume {

// "4 inputs, 3 hidden units, 1 output", "4 inputs, hidden layers of 5 and 3 units, 1 output"
[[nodiscard]] inline std::string shape_sentence(const Network& network) {
  const std::string units =
      network.depth() > 1 ? fmt::format("hidden layers of {} units", fmt::join(network.widths(), " and "))
                          : fmt::format("{} hidden unit{}", network.hidden(), plural(network.hidden()));
  return fmt::format("{} input{}, {}, {} output{}", network.inputs(), plural(network.inputs()), units,
                     network.outputs(), plural(network.outputs()));
}

// "4-3-1", "4-5-3-1"
[[nodiscard]] inline std::string shape_numbers(const Network& network) {
  std::vector<Index> sizes = {network.inputs()};
  for (const Layer& layer : network.layers) sizes.push_back(layer.W.rows());
  return fmt::format("{}", fmt::join(sizes, "-"));
}

}  // namespace exhume
