// What the terminal shows of a result: the verdict, then a few facts, at most a screen.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace exhume::cli {

// `steps`: what to do next; `seconds` of the clock on the wall; `folder` is empty where nothing was written.
[[nodiscard]] std::string summary(const Certificate& certificate, const std::string& verdict,
                                  const std::vector<Fact>& facts, const std::vector<std::string>& steps,
                                  double seconds, const std::string& folder,
                                  const std::vector<std::string>& files);

}  // namespace exhume::cli
