#include "exhume/papers/threshold.h"

#include <fmt/format.h>

#include <stdexcept>

namespace exhume {

LowestActivation parse_lowest_activation(std::string_view name) {
  for (const LowestActivation a : {LowestActivation::kAuto, LowestActivation::kRelu, LowestActivation::kSign,
                                   LowestActivation::kSigmoid}) {
    if (name == to_string(a)) return a;
  }
  throw std::invalid_argument(
      fmt::format("activation is '{}', but must be auto, relu, sign or sigmoid", name));
}

const char* to_string(LowestActivation activation) {
  switch (activation) {
    case LowestActivation::kAuto:
      return "auto";
    case LowestActivation::kRelu:
      return "relu";
    case LowestActivation::kSign:
      return "sign";
    case LowestActivation::kSigmoid:
      return "sigmoid";
  }
  return "";
}

void LowestLayerOptions::validate() const {
  if (hidden && *hidden < 1)
    throw std::invalid_argument(fmt::format("hidden is {}, but must be at least 1", *hidden));
  if (biased && activation != LowestActivation::kSigmoid) {
    throw std::invalid_argument(
        fmt::format("activation is {}, but biased rows are for sigmoid units", to_string(activation)));
  }
  if (biased && start != StartMethod::kTensor) {
    throw std::invalid_argument(
        fmt::format("start is {}, but biased rows start with the tensor method", to_string(start)));
  }
  if (profile_degree < 1 || profile_degree > 12) {
    throw std::invalid_argument(
        fmt::format("profile_degree is {}, but must be from 1 to 12", profile_degree));
  }
}

}  // namespace exhume
