// A lowest layer under anything: what is asked for, and what is found.
//
//     f(x) = P(u(w_1.x - t_1), ..., u(w_k.x - t_k)),    u = ReLU, sign or sigmoid,   P unknown
//
// How it is found: papers/threshold/lowest_layer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/types.h"
#include "papers/threshold/alone.h"
#include "papers/threshold/step_one.h"
#include "papers/threshold/unit_fit.h"

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

}  // namespace exhume
