// What a route finds.
#pragma once

namespace exhume {

enum class Finds {
  kNetwork,      // recover, one hidden layer
  kDeepNetwork,  // recover, several hidden layers
  kLowestLayer,  // lowest_layer, halfspaces
};

}  // namespace exhume
