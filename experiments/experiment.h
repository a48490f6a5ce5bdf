// The papers' experiments again: one function a paper, run by `exhume reproduce NAME`.
//
// An experiment writes its figures (.svg) with the numbers behind them (.csv) and findings.json into a
// folder, and returns what it found beside what was to be shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "exhume/base/control.h"

namespace exhume::experiments {

struct Options {
  std::filesystem::path out;   // folder for the files; made if need be
  std::filesystem::path data;  // folder with the data sets (examples/data)
  std::uint64_t seed = 0;
  bool quick = false;  // fewer iterations: a look, not the figures
  Control control;
};

// One number and what it should be.
struct Finding {
  std::string name;
  double value = 0;
  std::string should;  // "at most 1e-20", or "" where there is nothing to compare it to
  bool holds = true;
};

struct Report {
  std::vector<Finding> findings;
  std::vector<std::string> files;  // names in the folder
};

[[nodiscard]] Report memorize(const Options& options);
[[nodiscard]] Report symmetric(const Options& options);
[[nodiscard]] Report rectified(const Options& options);
[[nodiscard]] Report depth2(const Options& options);
[[nodiscard]] Report threshold(const Options& options);

}  // namespace exhume::experiments
