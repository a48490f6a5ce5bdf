// The lowest layer under anything (paper threshold, made practical).
//
//     f(x) = P(u(w_1.x - t_1), ..., u(w_k.x - t_k)),    x Gaussian,   u = ReLU, sign or sigmoid,   P unknown
//
// Step 1, directions to about 0.05 (Theorem 1, Claim 2): where thresholds are high, E[f He_p(x)] ~ sum_i c_i
// u_p w_i^(x)p up to products of units, which are rare. From these moments by one of three roads
// (routes/threshold/step_one.h), or from rows that were kept with a probability proportional to f
// (routes/threshold/biased.h).
//
// Step 2 (Theorem 5): each unit on the rows where it is alone (routes/threshold/alone.h, routes/threshold/unit_fit.h):
// Gauss-Newton through a kink, a band regression and the maximum margin at a step; thresholds come with the
// directions. Activity that no unit explains leads to further units: the moments once more, of the rows on
// which all known units are off. Sigmoids are never alone: they are fitted together, under products of two
// (routes/threshold/sigmoid_fit.h).
//
// The result says how far the assumptions hold. Below them it is uncertified, and the reason names the first
// that fails.
//
// Inputs are standardised first, so any Gaussian will do. One output. Cost: some forty passes of O(n d^3) for
// the moments, then ten of O(n d k).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exhume/base/control.h"
#include "exhume/recover.h"
#include "exhume/data/samples.h"
#include "exhume/routes/threshold/alone.h"
#include "exhume/routes/threshold/step_one.h"
#include "exhume/routes/threshold/unit_fit.h"

namespace exhume {

enum class LowestActivation {
  kAuto,     // kink or step, by the rows where units are alone
  kRelu,     // kink
  kSign,     // step
  kSigmoid,  // smooth
};
[[nodiscard]] LowestActivation parse_lowest_activation(std::string_view name);
[[nodiscard]] const char* to_string(LowestActivation activation);

struct LowestLayerOptions {
  std::optional<Index> hidden;  // k, if known
  LowestActivation activation = LowestActivation::kAuto;
  StartMethod start = StartMethod::kTensor;
  bool refine = true;   // step 2
  bool biased = false;  // rows were kept with a probability proportional to f (routes/threshold/biased.h); sigmoids
  int profile_degree = 5;  // of q_i in a kink fit where f has no noise; 2 with noise
  std::uint64_t seed = 0;

  // What a certificate asks for.
  double least_threshold = 1;
  double least_angle = 0.5;    // radians
  double most_overlap = 0.35;  // share of the activity on rows with two or more active units
  double most_unexplained = 0.01;
  double most_error = 0.05;  // worst standard error of a direction, radians
  void validate() const;
};

struct LowestLayerResult {
  Status status = Status::kUncertified;
  std::string reason;
  LowestActivation activation = LowestActivation::kAuto;  // as given, or as found
  Matrix W;      // k x d, unit rows, user's coordinates, by decreasing number of rows where the unit is alone
  Vector t;      // k: the unit is active where w.x > t
  Matrix start;  // k' x d: directions after step 1, user's coordinates
  std::vector<UnitFit> fits;  // in standardised coordinates
  RestLevel rest;
  Index samples = 0, held_out = 0;
  double nonlinear_share = 0;  // activity on rows with two or more active units / all activity, held-out rows
  double unexplained = 0;      // activity where no unit is active / all activity, held-out rows
  double stray_rate =
      0;  // share of such rows among all rows where no unit is active: label noise, if it leans nowhere
  double least_angle = 0, least_threshold = 0, worst_error = 0;
  Vector singular_values;  // of the stacked moments
  double noise_floor = 0;
  std::vector<Assumption> assumptions;
  std::vector<StageTime> timings;
  std::uint64_t seed = 0;
};

[[nodiscard]] LowestLayerResult lowest_layer(const SamplePtr& samples, const LowestLayerOptions& options,
                                             const Control& control = {});

// u(Wx - t) at every row of x, rows x k: what the rest of the network is to be fitted on (Appendix E).
[[nodiscard]] RowMatrix lowest_layer_features(const Matrix& W, const Vector& t, LowestActivation activation,
                                              const Eigen::Ref<const RowMatrix>& x);

}  // namespace exhume
