// What the parts of the threshold experiment share: where findings and files go, and how errors are measured.
#pragma once

#include <cstdint>
#include <string>

#include "experiment.h"
#include "papers/threshold/models.h"

namespace exhume::experiments::threshold_parts {

struct Bench : experiments::Bench {
  std::string rows = "experiment,seed,angle_step1,angle,threshold,extra\n";  // a line a run
  Index samples;                                                             // of the counts
  int seeds;

  explicit Bench(const Options& given);
  void row(const std::string& experiment, int seed, double step1, double angle, double threshold,
           double extra = 0);
  [[nodiscard]] std::uint64_t seed(int i) const { return options.seed + static_cast<std::uint64_t>(i) + 1; }
  // Nine in ten, as the promises are made.
  [[nodiscard]] int most() const { return seeds - seeds / 10; }
};

[[nodiscard]] double angle(const Vector& a, const Vector& b);

// Worst over the units after the best matching; pi for a unit that was not found.
struct Errors {
  double angle = 0, threshold = 0;
};
[[nodiscard]] Errors errors(const Matrix& W, const Vector& t, const ThresholdModel& truth);

void counts(Bench& bench);       // the promises, over fresh networks
void starts(Bench& bench);       // step 1 by its three methods
void refinements(Bench& bench);  // the paper's step 2 beside the one that is used
void sweeps(Bench& bench);       // figures

}  // namespace exhume::experiments::threshold_parts
