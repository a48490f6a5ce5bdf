// Symmetric inputs: a network from the pure-neuron detector (paper symmetric, made practical).
//
//     y = A s(Wx) + noise,   x and -x equally likely,   W: k x d, A: m x k,   k <= min(d, m), no biases
//
//   1  inputs whitened by E[xx^T] and reduced to the k-dimensional row space of W, which is that of E[yx^T];
//      outputs reduced to the column space of A; everything after costs as if d = m = k
//   2  outputs whitened by the covariance of what a linear fit leaves: the condition of A matters little then
//   3  Q, the linear part of y, by regression on x beside even functions of x. By symmetry they are
//      uncorrelated with x, so the expectation stays and the variance collapses: first 1 and vech(xx^T),
//      then, with units in hand, |v_i.x|. Without noise the error of the detector is that of Q
//      (moments/detector.h)
//   4  T from moments over all rows (the printed sample halves are in routes/symmetric_printed.h), its null
//      space, the power method on it: z_i, the rows of A^-1; then Algorithm 1: v_i = 2 Q^T z_i
//   5  steps 3 and 4 again with the units found. Without noise the error falls by a factor of ten or more a
//      round, since the units themselves regress the even part out: moments alone converge to rounding
//
// Assumes full-rank A, W and E[xx^T], and pairs of units that disagree in sign on some inputs (N of full
// rank, Theorem 4). Cost: two passes O(n (d+m)^2), then moments/cross_moments.h at d = m = k, and O(n k^2)
// for every refinement; one SVD of size k^2/2. What comes out is a start for the polish (fit/fit.h), which
// makes it exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "moments/standardise.h"
#include "routes/depth2.h"
#include "routes/symmetric_printed.h"

namespace exhume {

struct SymmetricOptions {
  std::optional<Index> hidden;  // number of units; empty: the rank of E[yx^T] above its noise
  SpanMethod span = SpanMethod::kPower;
  FirstLayer first_layer = FirstLayer::kAlgorithm1;
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

// The same as a start for fit_units, in standardised coordinates.
[[nodiscard]] SpectralStart symmetric_start(const SymmetricNetwork& found,
                                            const Standardisation& coordinates);

}  // namespace exhume
