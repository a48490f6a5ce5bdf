// What a query is asked for: counted, shown as progress, and kept in the log by name. Nothing is decided by
// it.
#pragma once

#include <optional>
#include <string_view>

namespace exhume {

enum class QueryStage {
  kProbe,        // what kind of thing answers
  kKinks,        // kinks along lines
  kJacobians,    // between them
  kPlanes,       // places on planes of the first layer
  kSurfaces,     // places on surfaces of units above it
  kSingleKinks,  // one kink on a short segment
  kDepth,        // does one hidden layer explain the kinks
  kSample,       // random queries of the space, for fits
  kFarPlaces,    // the same in a box, at its walls and corners
  kColumns,      // weights outside the subspace
  kWeakUnits,    // those of units that hardly act
  kSearch,       // units that the subspace did not show
  kAverage,      // all weights once more, where answers are coarse
  kClimbs,       // where sums of units are largest
  kFresh,        // the last check
  kLost,         // sent before a run was killed; their answers were not kept
  kAgain         // asked again, to see whether the oracle is that of the log
};

[[nodiscard]] std::string_view to_string(QueryStage stage);
// The stage of that name; nothing where there is none.
[[nodiscard]] std::optional<QueryStage> query_stage(std::string_view name);

}  // namespace exhume
