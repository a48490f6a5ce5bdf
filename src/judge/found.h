// What a route found, before it is judged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "certify/certify.h"
#include "exhume/certificate.h"
#include "fit/deep/found.h"
#include "fit/fit.h"

namespace exhume {

struct LowestLayer;

// The spectrum that shows the number of units, for pictures.
struct Spectrum {
  Vector singular_values;  // decreasing
  double noise_floor = 0;  // what sampling noise alone shows
  Index above_noise = 0;   // number of units by the gap
};

struct Found {
  SearchOutcome outcome = SearchOutcome::kStuck;
  std::string refusal;               // not empty: the problem is ill-posed, and this is why
  std::string said;                  // the outcome in words
  Fit fit;                           // standardised coordinates, signed form
  std::optional<Network> network;    // where it was found in the user's coordinates; otherwise that of `fit`
  bool exact_only = false;           // the route knows no noise: judged as exact whatever it leaves
  Checks checks;                     // of the route's own, before those that all share
  std::optional<ResidualLook> look;  // at what an inexact fit leaves
  std::optional<Spectrum> spectrum;
  std::vector<double> start_descent{};           // of the start
  Vector gaps;                                   // exact finish: of every start
  std::vector<std::pair<Index, Index>> support;  // entries (row, output) that were hit by noise
  std::shared_ptr<LowestLayer> layer;            // of routes to a lowest layer (exhume/papers/threshold.h)
  std::optional<DeepFound> deep;  // of routes to several hidden layers; standardised coordinates
};

}  // namespace exhume
