// What to do about a result that is not certified: one sentence for every check that failed. Only options
// that the command has, only routes that can apply to these samples, and nothing that was done already.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace exhume {

// Of a certificate as written, for whatever command wrote it: in the order of its checks, nothing twice;
// never empty where the result does not stand, and empty where it does.
[[nodiscard]] std::vector<std::string> next_steps(const Json& certificate);

}  // namespace exhume
