// The files that samples are given in on the command line: X and Y, one table, one archive, or standard
// input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "io/open.h"
#include "standard_input.h"

namespace exhume::cli {

inline constexpr const char* kSamplesHelp =
    "X and Y (.npy, .csv), one table with both (.csv, or - for standard input), or one .npz with arrays x "
    "and y; rows "
    "are samples";

class SampleArguments {
 public:
  // Adds the positional arguments `samples`; `text` is their help.
  void declare(CLI::App& app, const std::string& text, int least = 1);
  // Adds the option --target.
  void declare_target(CLI::App& app);

  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  // Before long work: throws std::invalid_argument where the files cannot be samples.
  void check() const;
  // Reads standard input, where that is one of the files.
  [[nodiscard]] OpenedSamples open(const Control& control);

 private:
  [[nodiscard]] SampleFiles files() const;

  std::vector<std::string> paths_;
  std::string target_;
  const CLI::Option* target_option_ = nullptr;
  std::optional<StandardInput> input_;
};

}  // namespace exhume::cli
