// The front door: samples in, network out, with the truth about it.
//
//   samples -> standardise -> moments -> subspace -> directions -> polish -> signs -> finish -> held-out
//   check
//
// Between a tenth and a fiftieth of the rows is held out and never touched by fitting. The result says what
// was found, by which road, how far the held-out rows confirm it, and what was assumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"

namespace exhume {

enum class Status {
  kCertified,    // every check of its kind passed
  kUncertified,  // a network is returned, but the first failed check is named in `reason`
  kRefused,      // the question is ill-posed; no network
};
[[nodiscard]] const char* to_string(Status status);

struct RecoverOptions {
  std::optional<Index> hidden;  // number of hidden units; empty: find it
  std::string route = "auto";   // auto, or a road by name: depth2, symmetric, any_inputs
  double leak = 0;              // slope of the units below zero, in [0, 1), as the symmetric road assumes it
  std::uint64_t seed = 0;       // of every random choice
  double budget_seconds = 300;  // roads that search stop here
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// One assumption that was looked at: `holds` says whether `value` is on the right side of `threshold`.
struct Assumption {
  std::string name;
  double value = 0, threshold = 0;
  bool holds = false;
  bool required = false;  // no certificate without it; the others only tell which theory applies
};

// How far the weights are determined by the function, to first order: a network of as many units near this
// one that differs from it by epsilon (root of E|f - f'|^2 over the samples' inputs) has weights within delta
// of these, because |theta_p| <= epsilon sqrt(n [(J^T J)^-1]_pp) for every parameter p (Cauchy-Schwarz), J
// the Jacobian in canonical coordinates (unit rows of W).
struct Identifiability {
  double smallest_singular = 0;  // of J's directions of W and b, over sqrt(rows) and the outputs' spread
  double epsilon = 0;            // root of the bound on E|f - fhat|^2 below
  double delta = 0;
};

struct Attempt {
  std::string route, outcome;
};

struct StageTime {
  std::string stage;
  double seconds = 0;
};

// One accepted step of the polish.
struct PolishStep {
  std::string stage;  // "sign-free" or "signed"
  int iteration = 0;
  double relative_mse = 0;  // mean squared residual / variance of the outputs
};

struct RecoverResult {
  Status status = Status::kUncertified;
  std::string reason;  // one sentence: why this status
  std::string route;   // the road that won
  Network network;     // canonical form, in the user's coordinates; empty where refused
  bool signs_identifiable = true;
  Index samples = 0, held_out = 0;
  double heldout_relative_mse = 0;  // mean squared error on the held-out rows / variance of the outputs
  double training_relative_mse = 0;
  double noise_sd = 0;      // estimated standard deviation of the noise, 0 where none is visible
  Network standard_errors;  // same shapes as `network`; empty where they were not computed
  double max_standard_error = 0;
  double functional_error_bound = 0;  // on E|f - fhat|^2 (summed over outputs), at `confidence`
  double confidence = 0.999;
  std::string bound_from;                          // which residuals the bound rests on, in words
  std::optional<Identifiability> identifiability;  // empty where it was not computed
  std::string conclusion;                          // what follows, where certified
  std::vector<std::string> assumed;                // and from what that no sample can show
  std::vector<Assumption> assumptions;
  std::vector<Attempt> tried;
  std::vector<StageTime> timings;
  std::uint64_t seed = 0;
  Index rows = 0;                  // of the source; `samples` are those without repetitions
  Index held_out_period = 0;       // split(samples, held_out_period, seed) gives the rows held out; 0: none
  double heldout_mean_square = 0;  // of the held-out errors, summed over outputs

  // For pictures.
  Vector singular_values;           // of the moment whose rank is the number of units
  double noise_floor = 0;           // singular values below it are sampling noise
  Index gap_units = 0;              // number of singular values above the floor
  std::vector<PolishStep> descent;  // how the polish went
  RowMatrix predicted, observed;    // at most 500 held-out rows x m
  Vector activity;                  // share of rows on which each unit is active
};

// Recovers the network behind `samples`. Throws DataError where the data cannot be used at all (constant
// column, too few rows), std::invalid_argument for bad options, Interrupted.
[[nodiscard]] RecoverResult recover(const SamplePtr& samples, const RecoverOptions& options,
                                    const Control& control = {});

}  // namespace exhume
