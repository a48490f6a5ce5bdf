// The papers' experiments again: one function per paper, run by `exhume reproduce NAME`.
//
// An experiment writes its figures (.svg) with the numbers behind them (.csv) and findings.json into a
// folder, and returns what it found beside what was to be shown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "exhume/control.h"
#include "io/output_folder.h"

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

  [[nodiscard]] bool holds() const {  // everything that should
    return std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.holds; });
  }
};

// The middle of the values; the larger of two middles.
[[nodiscard]] double median(std::vector<double> values);

// Where an experiment's findings and files go. Nothing is on disk before finish().
class Bench {
 public:
  explicit Bench(const Options& given) : options(given), folder_(given.out) {}

  const Options& options;

  void find(std::string name, double value, std::string should = "", bool holds = true);
  void find_at_most(std::string name, double value, double most);
  // `good` of `of` trials held where at least `least` should.
  void count(std::string name, int good, int of, int least);
  void write(const std::string& name, const std::string& bytes);
  // Writes the findings under this name, a list of {name, value[, should_be, holds]}, and all files.
  [[nodiscard]] Report finish(const std::string& findings_name);

 private:
  OutputFolder folder_;
  Report report_;
};

[[nodiscard]] Report memorize(const Options& options);
[[nodiscard]] Report symmetric(const Options& options);
[[nodiscard]] Report rectified(const Options& options);
[[nodiscard]] Report depth2(const Options& options);
[[nodiscard]] Report threshold(const Options& options);

struct Experiment {
  const char* name;
  const char* about;
  Report (*run)(const Options&);
};
inline constexpr Experiment kExperiments[] = {
    {"memorize", "synthetic rows and digits, PGD, Adam and the closed form (a few minutes)", memorize},
    {"symmetric",
     "errors against samples, noise and condition numbers (an hour; the short form some minutes)", symmetric},
    {"rectified", "every method of docs/rectified.md on fresh instances (a quarter of an hour)", rectified},
    {"depth2",
     "errors, successes and smoothed networks against samples (an hour; the short form some minutes)",
     depth2},
    {"threshold", "lowest layers, halfspaces, detectors and structure (twenty minutes; the short form a few)",
     threshold},
};

// Throws std::invalid_argument with the names that there are.
[[nodiscard]] const Experiment& find_experiment(const std::string& name);

// experiment, holds, findings [{name, value, should_be, holds}], folder, files.
[[nodiscard]] Json to_document(const std::string& name, const Options& options, const Report& report);

}  // namespace exhume::experiments
