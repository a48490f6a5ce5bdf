// What the module for MPI exports, and the library looks up.
#pragma once

#include <functional>

#include "engine/ranks.h"

namespace exhume {

// Changes with base/passes.h and engine/ranks.h: a module of another build is refused.
inline constexpr int kRanksVersion = 2;

inline constexpr const char* kRanksInterfaceSymbol = "exhume_ranks_interface";
inline constexpr const char* kOpenRanksSymbol = "exhume_open_ranks";
using RanksInterface = int();
using OpenRanks = RankPasses*(const std::function<bool()>& should_stop);

}  // namespace exhume
