// The options of recover as Python gives them: the same in the process that leads and in its workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "exhume/options.h"

namespace exhume::python {

// layers: "auto" or a number, empty where the other options imply it.
inline RecoverOptions recover_options(const std::string& layers, std::vector<Index> widths,
                                      const std::optional<Rows>& first_layer, const std::string& route,
                                      double leak, const std::string& activation, std::uint64_t seed,
                                      double budget) {
  RecoverOptions options;
  if (!layers.empty()) options.layers = parse_layers(layers);
  options.widths = std::move(widths);
  if (first_layer) options.first_layer = map(*first_layer);
  options.route = route;
  options.leak = leak;
  options.activation = activation;
  options.seed = seed;
  options.budget_seconds = budget;
  options.validate();
  return options;
}

}  // namespace exhume::python
