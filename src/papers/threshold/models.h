// Networks whose lowest layer has thresholds and whose upper part is anything (paper threshold, Sections 1
// and 2).
//
//     f(x) = P(X_1, ..., X_k),   X_i = u(w_i.x - t_i)          W: k x d, unit rows    t: k
//
//   u   max(a, 0), 1[a > 0], 1/(1 + exp(-a)), exp(a), a^2 or |a|
//   P   a polynomial; the union of {X_i > 0}, or the intersection of their complements; layers of sigmoids
//
// With orthonormal rows and t ~ sqrt(log d) products of units are rarely alive, so f is close in expectation
// to its part that is linear in the X_i (Lemma 2), which is what the recovery lives on.
//
// Samples are made while they are read: row i is a function of (seed, i) alone. O(dk + size of P) per row.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "exhume/control.h"
#include "exhume/samples.h"
#include "exhume/types.h"

namespace exhume {

enum class UnitActivation { kRelu, kSign, kSigmoid, kExponential, kSquare, kAbsolute };
// "relu", "sign", "sigmoid", "exponential", "square", "absolute"; anything else throws std::invalid_argument.
[[nodiscard]] UnitActivation parse_unit_activation(std::string_view name);
[[nodiscard]] const char* to_string(UnitActivation activation);
[[nodiscard]] double activate(UnitActivation activation, double a);

// coefficient * product of X_i^power over the factors (i, power).
struct Monomial {
  double coefficient = 0;
  std::vector<std::pair<Index, int>> factors;
};
struct PolynomialTop {
  double constant = 0;
  std::vector<Monomial> terms;
};
enum class GateTop {
  kUnion,         // 1 where some X_i > 0
  kIntersection,  // 1 where none is: the intersection of the halfspaces w_i.x <= t_i
};
// h <- 1/(1 + exp(-(W h + b))), layer after layer; the last one has a single row.
struct LayersTop {
  std::vector<Matrix> W;
  std::vector<Vector> b;
};

struct ThresholdModel {
  Matrix W;  // k x d
  Vector t;  // k
  UnitActivation activation = UnitActivation::kRelu;
  std::variant<PolynomialTop, GateTop, LayersTop> upper;

  [[nodiscard]] Index inputs() const { return W.cols(); }
  [[nodiscard]] Index hidden() const { return W.rows(); }
  // Throws std::invalid_argument unless the shapes fit together and every number is finite.
  void validate() const;
  // P at given X.
  [[nodiscard]] double top(const Eigen::Ref<const Vector>& X) const;
  // f at one row.
  [[nodiscard]] double operator()(const Eigen::Ref<const Vector>& x) const;
};

// f at every row of x.
[[nodiscard]] Vector evaluate(const ThresholdModel& model, const Eigen::Ref<const RowMatrix>& x);

// k orthonormal rows in R^d, k <= d.
[[nodiscard]] Matrix orthonormal_directions(Index k, Index d, std::uint64_t seed);
// k unit rows in R^d, uniform on the sphere given that all pairwise angles are at least `least_angle`
// (radians), by rejection one after the other. Throws std::invalid_argument where 100,000 draws find no place
// for a row.
[[nodiscard]] Matrix spread_directions(Index k, Index d, double least_angle, std::uint64_t seed);

// What P to plant.
enum class UpperKind {
  kLinear,    // sum X_i
  kProducts,  // linear terms plus all products of two, coefficients below
  kPairs,     // products of two only, no linear term, coefficients 1
  kPowers,    // linear terms, squares and cubes of single units, and all products of two (B.7)
  kUnion,
  kIntersection,
  kDeep,  // layers with sigmoids: k -> width -> 1
};
[[nodiscard]] UpperKind parse_upper(std::string_view name);

struct ThresholdPlan {
  Index inputs = 10;  // d >= 1
  Index hidden = 10;  // k >= 1
  UnitActivation activation = UnitActivation::kRelu;
  double threshold = 2;         // t
  double threshold_spread = 0;  // every t_i is uniform in [t - s, t + s]
  // Least angle between directions in radians; negative: orthonormal rows (k <= d).
  double least_angle = -1;
  UpperKind upper = UpperKind::kProducts;
  // Linear coefficients are uniform in [linear_low, linear_high], those of products in [-1, 1].
  double linear_low = 1, linear_high = 1;
  Index width = 8;  // of the layer of a deep upper part
  std::uint64_t seed = 0;
  void validate() const;
};
[[nodiscard]] ThresholdModel plant(const ThresholdPlan& plan);

struct ThresholdSampling {
  Index samples = 100000;
  double noise = 0;  // standard deviation of Gaussian noise on f
  double flips = 0;  // probability that a label 0/1 is turned around
  std::uint64_t seed = 0;
  void validate() const;
};
// Standard Gaussian inputs, one output.
[[nodiscard]] SamplePtr threshold_samples(const ThresholdModel& model, const ThresholdSampling& options);

// An upper bound of |f| where all X_i lie in [0, 1] (sign and sigmoid units); infinite otherwise.
[[nodiscard]] double output_bound(const ThresholdModel& model);

// The oracle of B.6 (biased.h): standard Gaussian rows kept with probability f(x)/bound, with their f(x).
// Draws until `keep` rows were kept; throws std::invalid_argument where f leaves [0, bound] or 10^9 draws
// will not suffice. bound <= 0: output_bound.
[[nodiscard]] SamplePtr biased_samples(const ThresholdModel& model, Index keep, std::uint64_t seed,
                                       double bound = 0, const Control& control = {});

}  // namespace exhume
