// What the terminal shows of a recovery: the verdict, then a few facts, at most a screen.
#pragma once

#include <string>
#include <vector>

#include "exhume/recover.h"

namespace exhume::cli {

// `seconds` of the clock on the wall; `folder` is empty where nothing was written.
[[nodiscard]] std::string summary(const RecoverResult& result, double seconds, const std::string& folder,
                                  const std::vector<std::string>& files);

}  // namespace exhume::cli
