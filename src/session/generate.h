// Samples of a random network, of a given one, of a layer with thresholds, or of a formula.
//
// Rows depend on the seed and their number alone: the same for any number of threads, and the first rows of a
// longer run are those of a shorter one. What is absent has its default, and is refused where it does not
// apply if present.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/module.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"
#include "io/tensors.h"

namespace exhume {

// A first layer with thresholds under something else (papers/threshold/models.h).
struct ThresholdLayerOptions {
  std::string activation = "relu";  // relu, sign, sigmoid, exponential, square or absolute
  double threshold = 2;
  double threshold_spread = 0;     // thresholds are uniform in [t - s, t + s]
  double least_angle = -1;         // random directions at least this many degrees apart; below 0: orthonormal
  std::string upper = "products";  // linear, products, pairs, powers, union, intersection or deep
  double flips = 0;                // probability that a label is turned around
  bool biased = false;             // keep a row with a probability proportional to its output
};

struct GenerateOptions {
  Index samples = 0;  // n >= 1
  std::uint64_t seed = 0;

  // The network: a given one, or its file (.safetensors, .npz, .onnx),
  std::optional<Network> network{};
  std::string network_file{};
  // or a random one.
  std::optional<Index> inputs{}, hidden{}, outputs{};
  std::vector<Index> layers{};   // units of several hidden layers, instead of `hidden`
  std::optional<double> bias{};  // biases are uniform in [-R, R], 0.5; with `layers`, R times a normal, 0.3
  std::optional<std::string> bias_at{};  // where biases are measured: mean (of the inputs) or origin
  std::optional<std::string>
      amplitudes{};          // entries of A: normal, or signs (size in [0.5, 1.5], random sign)
  bool orthonormal = false;  // W and A orthonormal instead of random
  std::optional<double> weights_condition{}, amplitudes_condition{};  // of those
  std::optional<double> perturb_weights{};  // adds so many times a standard normal to every entry of W
  std::optional<double> leak{};             // slope of the units below zero
  std::string activation{};                 // of the units, a name of the table of activations; empty: ReLU
  double perturb = 0;  // moves every weight by N(0, tau^2/d) first; rows stay of unit norm

  // The inputs and the noise (data/planted.h).
  std::string distribution = "gaussian";
  std::shared_ptr<const RowMatrix> rows{};  // the table of the distribution `rows`,
  std::string rows_file{};                  // or its file
  double perturb_inputs = 0;  // replaces a row with this probability by Q z, Q a random square matrix
  double mean = 0, condition = 1, noise = 0, noise_relative = 0;

  std::optional<ThresholdLayerOptions> threshold{};  // instead of a network
};

struct Generated {
  SamplePtr samples;
  std::optional<Network> network{};  // behind them; absent for a lowest layer and for a formula
  std::optional<Tensors> units{};    // W, t and the activation of a lowest layer
};

// Throws std::invalid_argument naming the field where options are missing, out of range or do not go
// together.
[[nodiscard]] Generated generate(const GenerateOptions& options, const Control& control = {});

// The ReLU-separability instance of the 6-CNF in a DIMACS file, as hard as the formula: two units with equal
// output weights have these outputs exactly where it is satisfiable. Complements of clauses are added where
// they are missing.
inline Slot<Generated(const std::string& cnf)> generate_formula{"the instance of a formula", "papers"};

// x.npy, y.npy, and network.safetensors or units.safetensors: all or none. Throws WouldOverwrite where the
// folder holds a result, unless `overwrite`; ResourceError where the disk is too small.
void write_generated(const Generated& made, const std::string& folder, bool overwrite,
                     const Control& control = {});

// Of options.threshold: the samples and units.
inline Slot<Generated(const GenerateOptions&, const Control&)> generate_threshold{
    "a planted layer with thresholds", "papers"};

}  // namespace exhume
