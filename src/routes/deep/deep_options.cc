#include "routes/deep/deep_options.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace exhume {

void DeepOptions::validate(Index inputs) const {
  const auto require = [](bool holds, const std::string& sentence) {
    if (!holds) throw std::invalid_argument(sentence);
  };
  require(layers >= 2 && layers <= 8,
          fmt::format("layers is {}, but must be between 2 and 8 for a deep network", layers));
  require(budget_seconds > 0, fmt::format("budget_seconds is {}, but must be positive", budget_seconds));
  if (widths) {
    require(static_cast<Index>(widths->size()) == layers,
            fmt::format("hidden has {} widths, but there are {} hidden layers", widths->size(), layers));
    for (Index k : *widths)
      require(k >= 1, fmt::format("a width in hidden is {}, but must be at least 1", k));
  }
  if (first_layer.size() == 0) return;
  require(layers == 2, "a first layer can be given for two hidden layers only");
  require(first_layer.cols() == inputs + 1,
          fmt::format("the first layer has units of {} inputs, but the samples have {}",
                      first_layer.cols() - 1, inputs));
}

}  // namespace exhume
