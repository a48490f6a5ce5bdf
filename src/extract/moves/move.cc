#include "extract/moves/move.h"

namespace exhume {

std::string_view to_string(Move move) {
  switch (move) {
    case Move::kProbe:
      return "probe the oracle";
    case Move::kTellDepth:
      return "tell the depth";
    case Move::kLayersInNoise:
      return "find two layers in noise";
    case Move::kFindSingleLayer:
      return "find a single layer in the subspace";
    case Move::kFindSmoothLayer:
      return "find a layer of smooth units";
    case Move::kFillColumns:
      return "fill columns";
    case Move::kAverage:
      return "average over the domain";
    case Move::kFindMissedUnits:
      return "find missed units";
    case Move::kSignSingleLayer:
      return "resolve signs";
    case Move::kTurnFrame:
      return "look for several layers";
    case Move::kFindPlanes:
      return "find first-layer planes";
    case Move::kTellBoxByJumps:
      return "tell layers in the box by jumps";
    case Move::kTellByJumps:
      return "tell units by jumps";
    case Move::kGrowLayers:
      return "grow layers";
    case Move::kPolish:
      return "polish";
    case Move::kFindMissingUnit:
      return "find a missing unit";
    case Move::kFillDeepColumns:
      return "fill columns of the first layer";
    case Move::kCompleteNetwork:
      return "complete the network";
    case Move::kConfirm:
      return "confirm";
  }
  return "";
}

}  // namespace exhume
