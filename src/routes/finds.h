// What a route finds.
#pragma once

namespace exhume {

enum class Finds {
  kNetwork,      // recover, one hidden layer
  kDeepNetwork,  // recover, several hidden layers
  kLowestLayer,  // lowest_layer, halfspaces
};

[[nodiscard]] constexpr const char* to_string(Finds finds) {
  return finds == Finds::kLowestLayer   ? "lowest layer"
         : finds == Finds::kDeepNetwork ? "deep network"
                                        : "network";
}

}  // namespace exhume
