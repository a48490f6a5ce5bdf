#include "exhume/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "exhume/activation.h"
#include "routes/table.h"

namespace exhume {
namespace {

void require(bool holds, const std::string& sentence) {
  if (!holds) throw std::invalid_argument(sentence);
}

std::optional<Index> whole_number(std::string_view text) {
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Index RecoverOptions::depth() const {
  if (layers > 0) return layers;
  if (!widths.empty()) return static_cast<Index>(widths.size());
  if (first_layer.size() > 0) return 2;
  return layers == kAnyDepth ? kAnyDepth : 1;
}

std::string RecoverOptions::unit_name() const { return activation == "auto" ? "relu" : activation; }

std::optional<Index> RecoverOptions::hidden() const {
  if (widths.size() != 1) return std::nullopt;
  return widths.front();
}

void RecoverOptions::validate() const {
  require(layers >= kAnyDepth && layers <= kMostLayers,
          fmt::format("layers is {}, expected auto or a whole number from 1 to {}", layers, kMostLayers));
  for (const Index width : widths)
    require(width >= 1, fmt::format("hidden is {}, expected at least 1, or auto", fmt::join(widths, ",")));
  require(
      widths.empty() || depth() == static_cast<Index>(widths.size()),
      fmt::format("hidden is {}, the width of {} hidden layer{}, but layers is {}: give as many widths as "
                  "layers, or leave one of the two to be found",
                  fmt::join(widths, ","), widths.size(), widths.size() == 1 ? "" : "s", layers));
  require(first_layer.size() == 0 || depth() == 2,
          fmt::format("a first layer can be given for two hidden layers, but there are {}", depth()));
  require(budget_seconds > 0, fmt::format("budget is {} s, expected above 0", budget_seconds));
  require(leak >= 0 && leak < 1, fmt::format("leak is {}, expected in [0, 1)", leak));
  require(candidates >= 1, fmt::format("candidates is {}, expected at least 1", candidates));
  require(most_patterns >= 1, fmt::format("most_patterns is {}, expected at least 1", most_patterns));
  (void)parse_rectifier(unit_name());
  check_route(*this);
}

Index parse_layers(std::string_view text) {
  if (text == "auto") return RecoverOptions::kAnyDepth;
  const std::optional<Index> value = whole_number(text);
  require(value && *value >= 1 && *value <= RecoverOptions::kMostLayers,
          fmt::format("layers is '{}', expected auto or a whole number from 1 to {}", text,
                      RecoverOptions::kMostLayers));
  return *value;
}

std::vector<Index> parse_widths(std::string_view text) {
  std::vector<Index> widths;
  if (text == "auto") return widths;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::optional<Index> width = whole_number(text.substr(from, to - from));
    require(
        width && *width >= 1,
        fmt::format("hidden is '{}', expected auto or whole numbers of at least 1 with commas between them",
                    text));
    widths.push_back(*width);
    from = to + 1;
  }
  return widths;
}

}  // namespace exhume
