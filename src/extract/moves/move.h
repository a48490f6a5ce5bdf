// The moves of an extraction, and the record of which was made when and why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exhume/types.h"

namespace exhume {

enum class Move {
  kProbe,            // what kind of thing answers
  kTellDepth,        // one hidden layer or several, where answers are coarse
  kLayersInNoise,    // two hidden layers, where answers are coarse
  kFindSingleLayer,  // one hidden layer within the subspace
  kFindSmoothLayer,  // one hidden layer of smooth units
  kFillColumns,      // its weights outside the subspace
  kAverage,          // all weights once more, where answers are coarse
  kFindMissedUnits,  // units that the subspace did not show
  kSignSingleLayer,  // signs and activation
  kTurnFrame,        // another attempt at several layers
  kFindPlanes,       // first layer of several
  kTellBoxByJumps,   // both layers in a box, from several outputs
  kTellByJumps,      // second layer, from several outputs
  kGrowLayers,       // units above the first layer
  kPolish,           // signs and last digits
  kFindMissingUnit,  // where nearly all is explained
  kFillDeepColumns,  // weights of the first layer outside the subspace
  kCompleteNetwork,  // weights and units that no random query showed
  kConfirm           // fresh queries
};

[[nodiscard]] std::string_view to_string(Move move);

struct MoveRecord {
  Move move = Move::kProbe;
  std::string why;
  Index queries = 0;  // answered before it
};
using MoveLog = std::vector<MoveRecord>;

}  // namespace exhume
