// Planted networks: a random teacher, and samples of it that are made while they are read.
//
//   y = f(x) + s e,    x = mu + S z      e standard normal; z as input_distribution.h draws it
//
// f is a two-layer ReLU network with unit rows of W; S is symmetric, its squared eigenvalues spread evenly in
// the logarithm from 1/sqrt(C) to sqrt(C) along random axes, so the covariance has condition number C.
//
// Row i is a function of (seed, i) alone: any thread may make it, in blocks of any size, and it is the same
// to the last bit. Nothing is stored, so n may be as large as one likes. O(d^2 + dk + km) a row, without the
// d^2 where C = 1.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "data/input_distribution.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"

namespace exhume {

// How the entries of A are drawn.
enum class Amplitudes {
  kNormal,  // standard normal
  kSigns,   // size uniform in [0.5, 1.5], either sign with probability 1/2
};
// "normal" or "signs"; anything else throws std::invalid_argument.
[[nodiscard]] Amplitudes parse_amplitudes(std::string_view name);

struct PlantedOptions {
  Index inputs = 10;   // d >= 1
  Index hidden = 10;   // k >= 1
  Index outputs = 10;  // m >= 1
  double bias = 0.5;   // R >= 0: b_i + <w_i, centre> is uniform in [-R, R]
  double centre = 0;   // every coordinate of the point at which the biases are measured
  Amplitudes amplitudes = Amplitudes::kNormal;
  // Orthonormal W and A instead: W = U S V^T, A = U' S' V'^T with random orthonormal factors and singular
  // values spaced evenly in the logarithm from 1 down to 1 over the condition number (paper symmetric,
  // Section 4.3). W then keeps its own row norms.
  bool orthonormal = false;
  double weights_condition = 1;     // of W, >= 1; only with orthonormal
  double amplitudes_condition = 1;  // of A, >= 1; only with orthonormal
  double perturb_weights = 0;       // rho >= 0: W + rho E, E standard normal (paper symmetric, Section C)
  double leak = 0;  // slope a of the units below zero, in [0, 1): A max(z, a z) as (1-a) A max(z, 0) + a A z
  std::uint64_t seed = 0;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// A random network: rows of W uniform on the sphere, A and b as the options say, c = 0.
[[nodiscard]] Network plant(const PlantedOptions& options);

struct SamplingOptions {
  Index samples = 10000;  // n >= 1
  Distribution distribution = Distribution::kGaussian;
  double perturb_inputs = 0;                // lambda in [0, 1]: the perturbation of input_distribution.h
  std::shared_ptr<const RowMatrix> rows{};  // the table of Distribution::kRows
  double mean = 0;                          // every coordinate of mu
  double condition = 1;       // C >= 1: largest over smallest eigenvalue of the inputs' covariance
  double noise = 0;           // s >= 0
  double noise_relative = 0;  // r >= 0 adds r times the outputs' standard deviation to s
  std::uint64_t seed = 0;
  void validate() const;
};

// Root mean square over the outputs of their standard deviation under the inputs of `options`, without noise:
// from 65,536 inputs drawn apart from the samples, so to about one percent.
[[nodiscard]] double output_scale(const Network& network, const SamplingOptions& options,
                                  const Control& control = {});

// The samples. With noise_relative this first takes output_scale().
[[nodiscard]] SamplePtr planted_samples(const Network& network, const SamplingOptions& options,
                                        const Control& control = {});

}  // namespace exhume
