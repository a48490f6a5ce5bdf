// A network of one hidden layer before the judge: fast, with the fit's dense curvature.
#pragma once

#include <memory>

#include "judge/judged_network.h"

namespace exhume {

// `under` outlives it.
[[nodiscard]] std::unique_ptr<JudgedNetwork> one_layer(const JudgeInput& input);

}  // namespace exhume
