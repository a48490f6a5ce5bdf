// What a route finds.
#pragma once

namespace exhume {

enum class Finds {
  kNetwork,      // recover, one hidden layer
  kDeepNetwork,  // recover, several hidden layers
  kLowestLayer,  // lowest_layer, halfspaces
};

[[nodiscard]] inline const char* to_string(Finds finds) {
  switch (finds) {
    case Finds::kLowestLayer:
      return "lowest layer";
    case Finds::kDeepNetwork:
      return "deep network";
    default:
      return "network";
  }
}

}  // namespace exhume
