// Samples in, network out, with the truth about it.
//
//   samples -> standardise -> moments -> subspace -> directions -> polish -> signs -> finish -> held-out
//   check
//
// Between a tenth and a fiftieth of the rows is held out and never touched by fitting. Routes
// (routes/table.h) are tried whose conditions hold; the result says what was found, by which route, how far
// the held-out rows confirm it, and what was assumed: certified, estimated or uncertified (certify/certify.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "certify/certify.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"
#include "routes/options.h"

namespace exhume {

struct RecoverOptions : RouteOptions {
  std::string route = "auto";  // auto, or the name of a route to a network
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// One accepted step of the polish.
struct PolishStep {
  std::string stage;  // "rounds on the residual", "sign-free" or "signed"
  int iteration = 0;
  double relative_mse = 0;  // mean squared residual / variance of the outputs
};

struct RecoverResult : Certificate {
  Network network;                  // canonical form, in the user's coordinates; empty where refused
  std::string activation = "relu";  // of its units, as parse_rectifier has it
  bool signs_identifiable = true;
  std::string precision;  // to what the rows are reproduced, where certified: "single precision, 2e-08"
  double heldout_relative_mse = 0;  // mean squared error on the held-out rows / variance of the outputs
  double heldout_mean_square = 0;   // of the held-out errors, summed over outputs
  double training_relative_mse = 0;
  double noise_sd = 0;      // estimated standard deviation of the noise, 0 where none is visible
  Matrix noise_covariance;  // of the outputs, m x m; empty where none is visible
  Network standard_errors;  // same shapes as `network`; empty where they were not computed
  double max_standard_error = 0;
  double functional_error_bound = 0;  // on E|f - fhat|^2 (summed over outputs), at `confidence`
  double confidence = 0.999;
  std::string bound_from;                          // which residuals the bound rests on, in words
  std::optional<Identifiability> identifiability;  // empty where it was not computed
  std::vector<std::pair<Index, Index>> support;    // sparse noise: entries (row, output) that were hit

  // For pictures.
  Vector singular_values;           // of the moment whose rank is the number of units
  double noise_floor = 0;           // singular values below it are sampling noise
  Index gap_units = 0;              // number of singular values above the floor
  std::vector<PolishStep> descent;  // how the polish went
  RowMatrix predicted, observed;    // at most 500 held-out rows x m
  Vector activity;                  // share of rows on which each unit is active
  Vector gaps;                      // exact finish: of every start
};

// Recovers the network behind `samples`. Throws DataError where the data cannot be used at all (constant
// column, too few rows), std::invalid_argument for bad options, Interrupted.
[[nodiscard]] RecoverResult recover(const SamplePtr& samples, const RecoverOptions& options,
                                    const Control& control = {});

// What a certificate states of a network that the samples alone do not tell.
struct Claim {
  Status status = Status::kCertified;  // certified or estimated
  std::string route, activation = "relu";
  std::uint64_t seed = 0;
  Index samples = 0;            // rows without repetitions
  Index period = 0;             // of the split
  bool exact_only = false;      // judged as routes do that know no noise
  bool by_signs = false;        // estimated as the route rectified-noise does: outputs of independent noise
  double structure = 0;         // of rounding errors, as the search saw it
  double budget_seconds = 300;  // for the fit that is made again
};
struct Judged {
  RecoverResult result;  // tried, timings, files and the pictures of the search are empty
  // What a new fit from the same units gains on the training rows, in variances of the noise; empty where
  // none was made, or not in time.
  std::optional<double> gained;
};
// The verdict on a network that was recovered before, from network and samples alone, by the same checks:
// every number of its certificate that can be computed again. Throws DataError where the claim is not one
// that recover() makes.
[[nodiscard]] Judged judge_again(const Network& network, const SamplePtr& samples, const Claim& claim,
                                 const Control& control = {});

}  // namespace exhume
