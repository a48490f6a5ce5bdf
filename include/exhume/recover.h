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

#include "exhume/base/control.h"
#include "exhume/certify/certify.h"
#include "exhume/model/network.h"
#include "exhume/data/samples.h"

namespace exhume {

struct RecoverOptions {
  std::optional<Index> hidden;  // number of hidden units; empty: find it
  std::string route = "auto";   // auto, or a road by name: depth2, symmetric, any_inputs
  double leak = 0;              // slope of the units below zero, in [0, 1), as the symmetric road assumes it
  std::uint64_t seed = 0;       // of every random choice
  double budget_seconds = 300;  // roads that search stop here
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// One accepted step of the polish.
struct PolishStep {
  std::string stage;  // "sign-free" or "signed"
  int iteration = 0;
  double relative_mse = 0;  // mean squared residual / variance of the outputs
};

struct RecoverResult : Certificate {
  Network network;     // canonical form, in the user's coordinates; empty where refused
  bool signs_identifiable = true;
  double heldout_relative_mse = 0;  // mean squared error on the held-out rows / variance of the outputs
  double training_relative_mse = 0;
  double noise_sd = 0;      // estimated standard deviation of the noise, 0 where none is visible
  Network standard_errors;  // same shapes as `network`; empty where they were not computed
  double max_standard_error = 0;
  double functional_error_bound = 0;  // on E|f - fhat|^2 (summed over outputs), at `confidence`
  double confidence = 0.999;
  std::string bound_from;                          // which residuals the bound rests on, in words
  std::optional<Identifiability> identifiability;  // empty where it was not computed
  double heldout_mean_square = 0;  // of the held-out errors, summed over outputs

  // For pictures.
  Vector singular_values;           // of the moment whose rank is the number of units
  double noise_floor = 0;           // singular values below it are sampling noise
  Index gap_units = 0;              // number of singular values above the floor
  std::vector<PolishStep> descent;  // how the polish went
  RowMatrix predicted, observed;    // at most 500 held-out rows x m
  Vector activity;                  // share of rows on which each unit is active
};

// Fills `conclusion` and `assumed` of a certified result: what follows, and from what no sample can show.
void conclude(RecoverResult& result);

// Recovers the network behind `samples`. Throws DataError where the data cannot be used at all (constant
// column, too few rows), std::invalid_argument for bad options, Interrupted.
[[nodiscard]] RecoverResult recover(const SamplePtr& samples, const RecoverOptions& options,
                                    const Control& control = {});

}  // namespace exhume
