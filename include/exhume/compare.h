// How far apart two networks are, up to the symmetries that do not change their function.
//
// Units are matched by optimal assignment, layer by layer, with rows of hidden units of unit norm.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

struct CompareOptions {
  bool free_signs = false;  // let units be turned around, at the price of a linear term
  double tolerance = std::numeric_limits<double>::infinity();  // largest difference of a parameter to accept
};

// The worst difference of each kind of parameter of one matched pair of units, counted from 0 in canonical
// order.
struct UnitDifference {
  Index first = 0, second = 0;
  bool turned = false;  // the first had to be turned around
  double weights = 0, bias = 0, outputs = 0;
  [[nodiscard]] double worst() const { return std::max({weights, bias, outputs}); }
};

struct LayerDifference {
  Index units = 0;
  double worst_error = 0;
  std::vector<Index> match{};  // unit i of the first is match[i] of the second; empty for the outputs
};

struct NetworkComparison {
  bool comparable = false;  // same inputs, outputs and widths, units that do nothing not counted
  double worst_error = 0;   // largest difference of a parameter
  double rms_error = 0;
  bool within = false;  // comparable, and the worst error is within the tolerance
  bool deep = false;    // one of them has several hidden layers: `layers` are filled in, otherwise `units`
  std::string first_shape{}, second_shape{};         // "10 → 20 → 1", without units that do nothing
  std::vector<Index> first_units{}, second_units{};  // of every layer, outputs last; of deep networks
  std::vector<UnitDifference> units{};               // those that differ most first
  std::vector<LayerDifference> layers{};
};

// Two files (.safetensors, .npz, .onnx). Throws DataError where one is no network of rectified units, or
// their activations differ.
[[nodiscard]] NetworkComparison compare(const std::string& first, const std::string& second,
                                        const CompareOptions& options = {});

}  // namespace exhume
#pragma GCC visibility pop
