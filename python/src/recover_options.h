// The options of recover as Python gives them: the same in the process that leads and in its workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "exhume/recover_layers.h"

namespace exhume::python {

inline RecoverOptions one_layer_options(std::optional<Index> hidden, const std::string& route, double leak,
                                        const std::string& activation, std::uint64_t seed, double budget,
                                        const std::optional<Rows>& units) {
  RecoverOptions options;
  options.hidden = hidden;
  options.route = route;
  options.leak = leak;
  options.rectifier = parse_rectifier(activation);
  options.seed = seed;
  options.budget_seconds = budget;
  if (units) options.units = map(*units);
  options.validate();
  return options;
}

inline DeepOptions deep_options(Index layers, std::optional<std::vector<Index>> widths,
                                const std::optional<Rows>& first_layer, std::uint64_t seed, double budget,
                                Index inputs) {
  DeepOptions options;
  options.layers = layers;
  options.widths = std::move(widths);
  if (first_layer) options.first_layer = map(*first_layer);
  options.seed = seed;
  options.budget_seconds = budget;
  options.validate(inputs);
  return options;
}

}  // namespace exhume::python
