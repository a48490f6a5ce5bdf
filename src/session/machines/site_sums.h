// Recovery where rows may not travel: every site writes a file of sums, and whoever has all of them goes on.
//
//     write_moments   the moments of a site's rows; recover starts from those of all sites
//     write_sums      how far a network is from a site's rows, at the network that all sites are at
//     write_step      the next network, from the sums of all sites
//
// Files hold sums only, never a row. One that exists is overwritten where the caller says so
// (WouldOverwrite).
#pragma once

#include <string>
#include <vector>

#include "base/module.h"
#include "exhume/control.h"
#include "exhume/samples.h"
#include "fit/partial_sums.h"
#include "moments/partial_moments.h"

namespace exhume {

// What was written.
struct SiteFile {
  std::string path;       // as asked for, with the ending of its kind
  Index rows = 0;         // that it speaks of
  std::size_t bytes = 0;  // its size
  double relative_mse =
      0;  // of sums and steps: what the network (before the step) leaves of the outputs' variance
};

struct MomentsOptions {
  std::string out;  // .moments is added to its name
  std::string
      like{};     // moments of the first site: all others are made in its frame; empty: a frame of their own
  int order = 4;  // highest order, 2 to 4
  bool overwrite = false;
};
[[nodiscard]] SiteFile write_moments(const SamplePtr& samples, const MomentsOptions& options,
                                     const Control& control = {});

// `out`: .sums is added to its name.
[[nodiscard]] SiteFile write_sums(const std::string& network, const SamplePtr& samples,
                                  const std::string& out, bool overwrite, const Control& control = {});

// `sums`: names of files or patterns. `damping` of the step: more where the last one made things worse.
[[nodiscard]] SiteFile write_step(const std::string& network, const std::vector<std::string>& sums,
                                  const std::string& out, double damping, bool overwrite);

// The moments of several files (names, patterns), merged in the order of their names.
[[nodiscard]] PartialMoments read_site_moments(const std::vector<std::string>& files);
// The same for callers that may have been built without the module machines.
inline Slot<PartialMoments(const std::vector<std::string>& files)> read_moments{
    "a start from moments of several sites", "machines"};

}  // namespace exhume
