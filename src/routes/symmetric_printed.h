// The algorithms of paper symmetric as they are printed, and the practical variant of its Section 4.
//
//     y = A s(Wx) + noise,   x and -x equally likely,   W: k x d, A: m x k, no biases,   s (leaky) ReLU
//
//   Algorithm 1   a single unit: w = 2 E[xx^T]^-1 E[yx] (the factor is 2/(1+a) for a slope a below zero)
//   Algorithm 2   two layers, no noise, m = k <= d: null space of the pure-neuron detector, vectors of the
//                 span, then Algorithm 1 on every pure neuron z_i.y; returns V and Z^-1
//   Algorithm 3   the same with noise: the detector that cancels it, from the first half of the samples;
//                 signs and Algorithm 1 from the second half
//   Algorithm 4   m >= k: outputs reduced to P^T y, P the top k left singular vectors of E[yx^T] from the
//                 first half; Algorithm 3 on the second half
//
// They work on moments, so that exact ones can be given. Where k < d nothing is reduced here, as printed; see
// routes/symmetric.h. Theorem 4: exact moments and full-rank A, W, E[xx^T], N return the same function.
#pragma once

#include <cstdint>

#include "decompose/span_vectors.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"
#include "moments/cross_moments.h"
#include "moments/detector.h"

namespace exhume {

enum class FirstLayer {
  kAlgorithm1,       // closed form
  kGradientDescent,  // least squares over W with A fixed (Section 4), started from Algorithm 1
};

struct PrintedOptions {
  SpanMethod span = SpanMethod::kRandomPair;
  double leak = 0;  // slope of the units below zero, in [0, 1)
  // vec* as printed stacks the upper triangle as it is. With false, off-diagonal entries count sqrt(2), which
  // makes singular vectors refer to an orthonormal basis of symmetric matrices.
  bool printed_coordinates = true;
  std::uint64_t seed = 0;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

enum class DetectorOutcome {
  kFound,          // k pure neurons
  kTooFewVectors,  // the span gave fewer than k distinct vectors: too few samples, or N is rank deficient
  kTooManyUnits,   // more units than inputs or outputs: the method does not apply
  kNothing,        // no linear part stands out from the noise
};
[[nodiscard]] const char* to_string(DetectorOutcome outcome);

struct DetectorNetwork {
  DetectorOutcome outcome = DetectorOutcome::kNothing;
  Network network;         // b = 0, c = 0; empty unless found
  Vector singular_values;  // of T, decreasing
  double gap = 0;          // last singular value outside the null space over the first one inside
};

// Algorithm 1 from the two moments: rows of `yx` (r x d) are E[y_i x^T]; returns r x d.
[[nodiscard]] Matrix single_layer(const Matrix& xx, const Matrix& yx, double leak);
// From samples: every output is a unit of its own.
[[nodiscard]] Matrix single_layer(const SampleSource& samples, double leak, const Control& control);

// The sign of pure neurons: a column z_i of z (k x k) is turned around where E[z_i.y] < 0, since a ReLU is
// nowhere negative.
void turn_to_positive_means(Matrix& z, const Vector& mean_y);

// Algorithms 2 and 3 from moments; m = k is the number of outputs.
[[nodiscard]] DetectorNetwork algorithm2(const CrossMoments& moments, const PrintedOptions& options);
[[nodiscard]] DetectorNetwork algorithm3(const CrossMoments& first, const CrossMoments& second,
                                         const PrintedOptions& options);

// From samples: halves are the first n/2 rows and the rest.
[[nodiscard]] DetectorNetwork algorithm2(const SamplePtr& samples, const PrintedOptions& options,
                                         const Control& control);
[[nodiscard]] DetectorNetwork algorithm3(const SamplePtr& samples, const PrintedOptions& options,
                                         const Control& control);
[[nodiscard]] DetectorNetwork algorithm4(const SamplePtr& samples, Index hidden,
                                         const PrintedOptions& options, const Control& control);

// Both halves in both roles: Algorithm 3 with (first, second) and with (second, first), units paired, the two
// networks averaged in canonical form. Uses all samples and keeps the independence that the halves are for.
[[nodiscard]] DetectorNetwork algorithm3_cross_fitted(const SamplePtr& samples, const PrintedOptions& options,
                                                      const Control& control);

// W by gradient descent on mean |y - A s(Wx)|^2 with A fixed; step 1 / (largest eigenvalue of A^T A times
// that of E[xx^T]), with Nesterov's momentum, restarted where the error grows.
struct LayerDescentOptions {
  int iterations = 400;
  double leak = 0;
};
[[nodiscard]] Network first_layer_by_descent(const Network& start, const SampleSource& samples,
                                             const LayerDescentOptions& options, const Control& control);

// The paper's measure (Section 4.1): columns of A and rows of W normalised and paired, then the squared
// distance, summed over units.
struct PairedError {
  double W = 0, A = 0;
};
[[nodiscard]] PairedError paired_error(const Network& truth, const Network& estimate);

}  // namespace exhume
