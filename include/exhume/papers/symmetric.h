// Paper symmetric, by the numbers of its algorithms: networks of one hidden layer under symmetric inputs.
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
// Where k < d nothing is reduced in these, as printed. Theorem 4: exact moments and full-rank A, W, E[xx^T],
// N return the same function.
//
//   symmetric_network   the same made practical: inputs and outputs reduced and whitened, the linear part of
//                 y regressed beside even functions of x, the detector refined with the units found
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"

#pragma GCC visibility push(default)
namespace exhume {

// How vectors z_i are found in a span of z_i z_i^T: the subspace power method, two random members and their
// generalised eigenvectors (as printed), a CP decomposition of random members, or the joint diagonalisation
// of a basis.
enum class SpanMethod { kPower, kRandomPair, kAls, kJointDiagonalisation };
[[nodiscard]] const char* to_string(SpanMethod method);
// "power", "random-pair", "als" or "joint-diagonalisation"; anything else throws std::invalid_argument.
[[nodiscard]] SpanMethod parse_span_method(std::string_view name);

enum class FirstLayerMethod {
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

struct SymmetricOptions {
  std::optional<Index> hidden;  // number of units; empty: the rank of E[yx^T] above its noise
  SpanMethod span = SpanMethod::kPower;
  FirstLayerMethod first_layer = FirstLayerMethod::kAlgorithm1;
  double leak = 0;         // slope of the units below zero, in [0, 1)
  bool controlled = true;  // step 3; false: Q = E[yx^T] E[xx^T]^-1
  int refinements = 4;     // most rounds of step 5; ends when they no longer help
  std::uint64_t seed = 0;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// How far the null space of T stands out from sampling noise. T is formed over even and over odd rows, each
// with its own Q; half their difference D has the distribution of the error of T before any refinement. By
// Wedin's theorem the null space, with basis S, is turned by an angle of at most about |D S| / (least
// singular value outside of it).
struct DetectorDiagnosis {
  double signal = 0;  // least singular value of T outside its null space
  double noise = 0;   // |D S|, largest singular value
  Index samples = 0;  // rows it was measured on
  // Rows at which signal would be kClear times the noise, since noise falls as 1/sqrt(n).
  double samples_needed = 0;
  static constexpr double kClear = 3;
  [[nodiscard]] bool clear() const { return signal >= kClear * noise; }
  [[nodiscard]] std::string words() const;  // one sentence that a user can act on
};

struct SymmetricNetwork {
  DetectorOutcome outcome = DetectorOutcome::kNothing;
  Network network;         // in the coordinates of the samples; b = 0, c = 0
  Vector singular_values;  // of T, decreasing
  double gap = 0;
  Vector linear_values;     // singular values of the whitened E[yx^T]
  double linear_floor = 0;  // what noise alone shows there
  Index units = 0;          // k that was used
  DetectorDiagnosis diagnosis;
};

// `samples` as they are: nothing may have been subtracted from x or y.
[[nodiscard]] SymmetricNetwork symmetric_network(const SamplePtr& samples, const SymmetricOptions& options,
                                                 const Control& control);

}  // namespace exhume
#pragma GCC visibility pop
