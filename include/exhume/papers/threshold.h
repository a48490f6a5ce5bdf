// Paper threshold: the lowest layer of a network with high thresholds, whatever lies above it; halfspaces.
//
//   Theorem 1, Claim 2   StartMethod             directions from moments: the power method, or the paper's
//                                                two landscapes, one unit at a time or all at once
//   Theorem 5            lowest_layer            each unit on the rows where it is alone, with its threshold
//   Theorem 6            halfspaces              unions and intersections of halfspaces, from labels
//   Appendix E           lowest_layer_features   what the rest of the network is to be fitted on
//
//     f(x) = P(u(w_1.x - t_1), ..., u(w_k.x - t_k)),    x Gaussian,   u = ReLU, sign or sigmoid,   P unknown
//
// Step 1, directions to about 0.05 (Theorem 1, Claim 2): where thresholds are high,
//
//     E[f He_p(x)]  ~  sum_i c_i u_p w_i^(x)p
//
// up to products of units, which are rare. From these moments by one of three methods
// (StartMethod), or from rows that were kept with a probability proportional to f
// (papers/threshold/biased.h).
//
// Step 2 (Theorem 5): each unit on the rows where it is alone (papers/threshold/alone.h, unit_fit.h):
// Gauss-Newton through a kink, a band regression and the maximum margin at a step; thresholds come with the
// directions. Activity that no unit explains leads to further units: the moments once more, of the rows on
// which all known units are off. Sigmoids are never alone: they are fitted together, under products of two
// (papers/threshold/sigmoid_fit.h).
//
// The result says how far the assumptions hold. Below them it is uncertified, and the reason names the first
// that fails.
//
// Inputs are standardised first, by the rows that are not held out, so any Gaussian will do. One output.
// Cost: some forty passes of O(n d^3) for the moments, then ten of O(n d k).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

// How step 1 finds directions.
enum class StartMethod { kTensor, kOneByOne, kSimultaneous };
// "tensor", "one-by-one", "simultaneous"; anything else throws std::invalid_argument.
[[nodiscard]] StartMethod parse_start_method(std::string_view name);
[[nodiscard]] const char* to_string(StartMethod method);

struct RestLevel {
  double value = 0;      // c_0
  double share = 0;      // of the rows that equal it
  double noise_sd = 0;   // 1.4826 times the median absolute deviation; 0 where exact
  double tolerance = 0;  // |f - c_0| above it means that a unit is active (exact), or is far above the noise
  bool exact = false;    // at least a fifth of the rows equal c_0
};

enum class FitOutcome {
  kFitted,
  kTooFewRows,  // a kink: fewer than 3 active rows per unknown; a step: fewer than 12 per unknown in the band
  kNoResponse,  // the rows where the unit should be active look like those where it is not
};

struct UnitFit {
  FitOutcome outcome = FitOutcome::kTooFewRows;
  Vector w;  // d, unit norm
  double t = 0;
  double size = 0;  // kink: slope of q at 0 (with degree 1: its coefficient); step: high - low
  Index rows = 0;   // rows that the last step used
  // Half the difference of two fits, on even and on odd rows: an honest standard error.
  double angle_error = 0;
  double threshold_error = 0;
  double margin = 0;  // maximum margin; 0 where it was not sought or the labels are not separable
  double misfit = 0;  // root mean square of what is left, over that of y - c_0
  // Share of active rows beyond t + 0.1 less the share before t - 0.1; near 1 for a true unit.
  double response = 0;
};

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
  bool refine = true;  // step 2
  bool biased =
      false;  // rows were kept with a probability proportional to f (papers/threshold/biased.h); sigmoids
  int profile_degree = 5;  // of q_i in a kink fit where f has no noise; 2 with noise
  std::uint64_t seed = 0;

  // What a certificate asks for.
  double least_threshold = 1;
  double least_angle = 0.5;    // radians
  double most_overlap = 0.35;  // share of the activity on rows with two or more active units
  double most_unexplained = 0.01;
  double most_error = 0.05;  // worst standard error of a direction, radians
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

struct LowestLayer {
  LowestActivation activation = LowestActivation::kAuto;  // as given, or as found
  Matrix W;      // k x d, unit rows, user's coordinates, by decreasing number of rows where the unit is alone
  Vector t;      // k: the unit is active where w.x > t
  Matrix start;  // k' x d: directions after step 1, user's coordinates
  std::vector<UnitFit> fits;  // in standardised coordinates
  RestLevel rest;
  double nonlinear_share = 0;  // activity on rows with two or more active units / all activity, held-out rows
  double unexplained = 0;      // activity where no unit is active / all activity, held-out rows
  double stray_rate =
      0;  // share of such rows among all where no unit is active: label noise, if it leans nowhere
  double least_angle = 0, least_threshold = 0, worst_error = 0;
  Vector singular_values;  // of the stacked moments
  double noise_floor = 0;
};

// A set of labels that the units of a layer of steps make.
struct HalfspaceSet {
  bool intersection = true;   // otherwise a union
  double labels[2] = {0, 1};  // the two values: on no halfspace's far side, on some halfspace's far side
  double flip_rate = 0;       // estimated share of labels that were turned around
  double agreement = 0;       // of the found set with the held-out labels
};

struct LowestLayerResult {
  Certificate certificate;
  LowestLayer layer;
  std::optional<HalfspaceSet> set;  // where halfspaces were asked for
};

// Throws DataError where there are several outputs, one input or too few rows, std::invalid_argument,
// Interrupted.
[[nodiscard]] LowestLayerResult lowest_layer(const SamplePtr& samples, const LowestLayerOptions& options,
                                             const Control& control = {});

// u(Wx - t) at every row of x, rows x k: what the rest of the network is to be fitted on (Appendix E).
[[nodiscard]] RowMatrix lowest_layer_features(const Matrix& W, const Vector& t, LowestActivation activation,
                                              const Eigen::Ref<const RowMatrix>& x);

// The mean output along every direction, counted from its threshold, in bins of 0.1: a unit that is one bends
// or jumps at 0. Of at most eight units; bins of fewer than 20 rows are left out.
struct UnitProfile {
  std::vector<double> at, mean;  // w.x - t, mean of y
};
using UnitProfiles = std::vector<UnitProfile>;
[[nodiscard]] UnitProfiles unit_profiles(const LowestLayer& layer, const SampleSource& samples,
                                         const Control& control = {});

// Unions and intersections of halfspaces far from the origin, from labels (paper threshold, Section 2.3,
// Theorem 6).
//
//     intersection:  label 1 where w_i.x <= t_i for all i       union:  label 1 where w_i.x > t_i for some i
//
// The complement of an intersection is a union of sign units, P = 1 - prod (1 - X_i), monotone and
// multilinear, so this is lowest_layer with steps: normals and offsets on the rows that a halfspace explains
// alone, at the end by maximum margin where the labels are separable. Labels turned around at random with a
// probability below one half are measured and allowed. Which of the two it is: the units
// say which label lies on their far side.

// The layer with its set. Throws DataError unless the outputs take exactly two values.
[[nodiscard]] LowestLayerResult halfspaces(const SamplePtr& samples, LowestLayerOptions options,
                                           const Control& control = {});

// The label of every row of x.
[[nodiscard]] Vector halfspace_labels(const LowestLayer& layer, const HalfspaceSet& set,
                                      const Eigen::Ref<const RowMatrix>& x);

}  // namespace exhume
#pragma GCC visibility pop
