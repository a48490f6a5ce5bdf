// What to do about a result that is not certified: one sentence for every check that failed.
#pragma once

#include <string>
#include <vector>

#include "exhume/certificate.h"

namespace exhume {

// In the order of `failed`, the names of required checks that do not hold; nothing twice. What helps always
// comes last, where there are `samples` to look at. Empty where the result stands.
[[nodiscard]] std::vector<std::string> next_steps(Status status, const std::vector<std::string>& failed,
                                                  bool samples = true);
[[nodiscard]] std::vector<std::string> next_steps(const Certificate& certificate);

}  // namespace exhume
