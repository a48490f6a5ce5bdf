// Networks of several hidden layers from samples alone.
//
//     h_0 = x,   h_l = max(W_l h_{l-1} + b_l, 0),   f(x) = A h_D + c               D >= 2 (model/deep_network.h)
//
// Nothing is assumed of the inputs, and no theorem says that it works: students, polish, pruning, signs
// (fit/deep/search.h). What stands behind a certificate is what the data show:
//
//     reproduced     every entry of training and held-out rows, to its stored precision
//     minimal        no unit of any layer can go: each was tried
//     plain          no skip terms are needed, and the signs of all units are determined
//     determined     the Jacobian has full rank, layer by layer (fit/deep/determined.h)
//
// Noisy rows: instead of the first, what is left has to look like noise (certify/residual_look.h), no unit explains less
// than chance does, and every weight comes with its standard error: estimated.
//
// Without noise the samples are then those of this network, and the weights of any network of these widths near it follow
// from the function, up to order and scale of the units. Units that are linear or dead on all samples are not
// part of it, and where a rule fails the function is returned, uncertified, with that reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"
#include "fit/deep/search.h"
#include "routes/deep/deep_options.h"

namespace exhume {

struct DeepResult : Certificate {
  Network network;       // canonical form, in the user's coordinates
  bool plain = false;    // without skip terms
  bool minimal = false;  // no unit can go: each was tried
  bool signs_identifiable = false;
  std::string precision;  // to what the rows are reproduced, where certified
  double heldout_relative_mse = 0;
  double heldout_mean_square = 0;
  double training_relative_mse = 0;
  double noise_sd = 0;      // root mean square over the outputs, 0 where none is visible
  Network standard_errors;  // in the shapes of `network`; no layers where they were not computed
  double max_standard_error = 0;
  double functional_error_bound = 0;  // on E|f - fhat|^2 (summed over outputs), at `confidence`
  double confidence = 0.999;
  std::vector<double> smallest_singular;  // of every hidden layer (fit/deep/determined.h)
  double weights_within = 0;              // standardised coordinates: how far others of these widths may be
  std::vector<DeepAttempt> attempts;
  RowMatrix predicted, observed;  // at most 500 held-out rows x m
};

// Throws DataError where the data cannot be used at all, std::invalid_argument for bad options, Interrupted.
[[nodiscard]] DeepResult recover_deep(const SamplePtr& samples, const DeepOptions& options,
                                      const Control& control = {});

}  // namespace exhume
