// The verdict on what a route found: the same for every number of hidden layers.
//
//     place the network -> held-out rows -> errors and bounds -> checks -> status, reason, conclusion
//
// Nothing here has seen a held-out row before. What depends on the depth is behind JudgedNetwork.
#pragma once

#include <functional>

#include "judge/judged_network.h"

namespace exhume {

// Checks of a route's own, against the samples as they were given: made after those of the network.
using Recheck = std::function<void(const Network& network, Checks& checks)>;

// Fills `result`, whose certificate has the rows and what was tried.
void judge(JudgedNetwork& network, const JudgeInput& input, const Recheck& recheck, Result& result);

}  // namespace exhume
