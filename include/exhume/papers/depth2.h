// The algorithms of paper depth2 by their numbers.
//
//     f(x) = sum_i a_i max(w_i.x + b_i, 0),     |w_i| = 1,     x ~ N(0, I)
//
//   Algorithm 1   exact_units          directions from exact tensors of orders 2l+1 and 2l+2, by Jennrich
//   Algorithm 2   recover_scalars      a_i and b_i from orders l..l+3 (Lemma 4.5); l = 1: orders 2 and 3
//   Algorithm 3   fix_signs            which of +-(w_i, b_i) it is, from order 1
//   Algorithm 4   robust_units         Algorithm 1 on estimates, with thresholds eta
//   Algorithm 5   regression_network   regression on the units with both signs and a linear part; k + 2 units
//   Algorithm 6   full_rank_network    Algorithm 4 with l = 1, then Algorithm 3
//
// Assumes independent w_i where l = 1 (at most d units), independent w_i w_i^T where l = 2. Units come up to
// sign, (xi_i w_i, xi_i b_i), until Algorithm 3. Cost: estimating the tensors, n m' d^(2l+2) / (2l+2)! flops;
// then an SVD and a QZ of size at most the rank.
//
// Why both orders. The coefficient of w_i^(x)p is a_i (-1)^p He_{p-2}(b_i) phi(b_i), and He_{2l-1}, He_{2l}
// have no common zero (Lemma 4.3): a unit that one order misses is seen by the other.
//
// What differs from the print, and why.
// - Modes are written in isometric coordinates of symmetric tensors (linalg/symmetric_tensor.h), and
//   Jennrich's step is the QZ algorithm on the compressed array, the best of several contractions
//   (papers/depth2/jennrich.h).
// - Any number of outputs m' >= 1: they join the third mode, which keeps all rank-one terms. The print has
//   one. Algorithm 5 keeps to one, since Claim D.14 folds one linear part.
// - The paper's eta are polynomials in unknown quantities. Here eta_1 is what noise alone shows: the largest
//   singular value of the flattened noise (half the difference of even and odd rows), times 1.1; eta_2 is
//   the same, since a term below the floor of its own flattening is not to be told from noise; eta_3 is twice
//   the largest relative error eta_1 / |term| of the terms kept, between 1e-6 and 0.35.
// - Among doubles the one that stands out more from its noise is kept, not whichever comes first; and where
//   the number of units is given, the strongest so many; if fewer stand out from the noise, the rest from
//   below it.
// - Biases beyond +-8, which only noise gives, are cut there.
// - Algorithms 3 and 6 say what they could not decide: a system of signs without full rank (Claim 4.8), or
//   tensors that the units do not explain.
// - The constant c of the network is free: order 0 less what the units give.
// - Algorithm 5 solves its least squares in the ball exactly (secular equation), where the print runs
//   projected gradient descent, and takes two features a unit, as the paper's remark on Theorem 3.2 allows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"

#pragma GCC visibility push(default)
namespace exhume {

// A symmetric tensor of order p over R^d by its (d+p-1 choose p) free entries T(i_1 <= ... <= i_p) in
// colexicographic order, one column per output.
struct SymmetricTensor {
  Index dimension = 0;  // d
  int order = 0;        // p
  Matrix entries;       // N(d, p) x m
};

// Hermite coefficients E[f He_p(x)] of a network as symmetric tensors: exact ones, and estimates from
// samples. Above this many inputs orders 5 and 6 are refused.
inline constexpr Index kMostInputsOfOrder6 = 8;

struct HermiteTensors {
  Index inputs = 0, outputs = 0;
  std::vector<SymmetricTensor> estimate;  // orders 0, 1, ...
  std::vector<SymmetricTensor> noise;  // of the same shapes, distributed like the errors; zero for exact ones
  [[nodiscard]] int order() const { return static_cast<int>(estimate.size()) - 1; }
};

// Lemma 3.5: orders 0 to `order`. Rows of W need not have unit norm.
[[nodiscard]] HermiteTensors population_hermite_tensors(const Network& network, int order);

struct HermiteTensorOptions {
  int order = 4;  // 4 or 6
  // false: E[y He_p], as the paper prints it. true: order p of what a polynomial of degree min(p - 1, 3)
  // leaves of y; the expectation is the same, the variance far smaller (moments.h).
  bool residualise = false;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// Samples must be standardised (standardise.h): covariance I, mean 0.
[[nodiscard]] HermiteTensors estimate_hermite_tensors(const SamplePtr& standard,
                                                      const HermiteTensorOptions& options,
                                                      const Control& control);

// Jennrich's algorithm (Theorem A.5): the best of several random contractions.
struct JennrichOptions {
  std::uint64_t seed = 0;
  int trials = 12;   // random contractions
  bool als = false;  // refine by alternating least squares (cp_als.h)
  int als_sweeps = 200;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

struct Depth2JennrichOptions {
  int ell = 1;                             // l, 1 or 2
  std::optional<Index> hidden;             // number of units, if known: caps the ranks and the result
  std::optional<double> eta1, eta2, eta3;  // thresholds; empty: from the noise, as above
  JennrichOptions jennrich;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// Units up to sign.
struct UnsignedUnits {
  Matrix W;                           // k x d, unit rows
  Vector b;                           // k
  Matrix A;                           // m' x k
  Vector strength;                    // norm of each unit's rank-one term over the floor eta_1 of its order
  Index rank_odd = 0, rank_even = 0;  // k' and k'' of Algorithm 4
  double eta1_odd = 0, eta1_even = 0, eta3 = 0;  // thresholds that were used
};

// Algorithms 1 and 4. `tensors` must reach order 2l + 2. Algorithm 1 takes thresholds at rounding.
[[nodiscard]] UnsignedUnits exact_units(const HermiteTensors& tensors,
                                        const Depth2JennrichOptions& options = {});
[[nodiscard]] UnsignedUnits robust_units(const HermiteTensors& tensors,
                                         const Depth2JennrichOptions& options = {});

// Algorithm 2. For j = l..l+3 (l = 1: j = 2, 3) solve sum_i zeta_j(i) w_i^(x)j = T_j by least squares. With
// gamma_{j-2} = zeta_j = beta (-1)^j He_{j-2}(b), beta = a phi(b), Lemma 4.5 takes q in {l-1, l} with the
// larger |gamma_q| and
//
//     b = -(gamma_{q+1} + q gamma_{q-1}) / gamma_q,     a = (-1)^q gamma_q / (phi(b) He_q(b));
//     l = 1:   b = -gamma_1 / gamma_0,                  a = gamma_0 / phi(b)
//
// With several outputs b is the least-squares ratio over them.
struct Scalars {
  Matrix A;  // m' x k
  Vector b;  // k
};
[[nodiscard]] Scalars recover_scalars(int ell, const Matrix& W, const HermiteTensors& tensors);

// Algorithm 3. z solves sum_i z_i a_i w_i = T_1 with (w_i, b_i) up to sign; the truth is
//
//     z_i = Phi(b_i)  where xi_i = 1,     z_i = Phi(b_i) - 1  where xi_i = -1
//
// The print takes the sign of z_i; the nearer of the two, which are always one apart, is the same without
// noise and has the larger margin with it.
struct FixedSigns {
  Vector signs;               // +-1
  Vector z;                   // the solution
  double doubt = 0;           // largest distance of a z_i to the value of its sign; 1/2 is a guess
  double condition = 0;       // of the system; infinite where it has no full rank
  bool identifiable = false;  // full rank (at most m' d units, independent a_i w_i^T) and doubt below 1/4
};
[[nodiscard]] FixedSigns fix_signs(const Matrix& W, const Vector& b, const Matrix& A,
                                   const HermiteTensors& tensors);

enum class FullRankOutcome {
  kRecovered,  // the units explain the tensors up to their noise and all signs are determined
  kSignsOpen,  // units found, signs not identifiable (Claim 4.8, or more units than m' d)
  kMisfit,     // the units found do not explain the tensors: dependent weights, or noise too large
};
[[nodiscard]] const char* to_string(FullRankOutcome outcome);

struct FullRankResult {
  FullRankOutcome outcome = FullRankOutcome::kMisfit;
  Network network;
  UnsignedUnits units;
  FixedSigns signs;
  // max_p |T_p - that of the units| / max_p max(|noise_p|, 1e-6 |T_p|), p = 2..2l+2; explained up to 3.
  double misfit = 0;
};

// Algorithm 6, for any l that `options` names (the print has l = 1).
[[nodiscard]] FullRankResult full_rank_network(const HermiteTensors& tensors,
                                               const Depth2JennrichOptions& options = {});

// Claim D.14: a function of both signs of every unit and a linear part, as k + 2 units,
//
//     v.x + c + sum_i alpha_i max(w_i.x + b_i, 0) + alpha'_i max(-w_i.x - b_i, 0)
//         = sum_i (alpha_i + alpha'_i) max(w_i.x + b_i, 0)
//           + beta_0 max(w_0.x + b_0, 0) - beta_0 max(-w_0.x - b_0, 0)
//
// with beta_0 w_0 = v - sum alpha'_i w_i and beta_0 b_0 = c - sum alpha'_i b_i. Where the linear part is
// constant it goes into c and no unit is added.
[[nodiscard]] Network fold_features(const Matrix& W, const Vector& b, const Vector& alpha,
                                    const Vector& alpha_turned, const Vector& linear, double constant);

struct RegressionOptions {
  Depth2JennrichOptions units;
  bool residualise = false;     // moments of Algorithm 4, see hermite_tensors.h
  double epsilon = 1e-2;        // in the truncation level tau
  std::optional<double> bound;  // B; empty: from the units found
};

struct RegressionResult {
  Network network;  // at most k + 2 units
  UnsignedUnits units;
  double radius = 0;      // of the ball, sqrt(8 k) + k (1 + B), k the units found
  double truncation = 0;  // tau = 20 k (8 k + d) B sqrt(log(k^2 d B / epsilon))
  Index truncated = 0;    // rows left out because |features| > tau
  bool on_the_boundary = false;
  double relative_mse = 0;  // on the second half of the rows
};

// Algorithm 5: units from the first half of the rows, regression on the second. One output, inputs standard.
[[nodiscard]] RegressionResult regression_network(const SamplePtr& standard, const RegressionOptions& options,
                                                  const Control& control);

}  // namespace exhume
#pragma GCC visibility pop
