#include "oracle/stage.h"

#include <array>
#include <cstddef>

namespace exhume {
namespace {

constexpr std::array<std::string_view, 17> kNames = {
    "probe",   "kinks",    "jacobians",  "planes",       "followed",   "single kinks",
    "depth",   "subspace", "far places", "columns",      "weak units", "search",
    "average", "climbs",   "fresh",      "answers lost", "asked again"};

}  // namespace

std::string_view to_string(QueryStage stage) { return kNames.at(static_cast<std::size_t>(stage)); }

std::optional<QueryStage> query_stage(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames.at(i) == name) return static_cast<QueryStage>(i);
  return std::nullopt;
}

}  // namespace exhume
