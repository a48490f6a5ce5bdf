// Paper rectified, algorithm by algorithm: networks y = A f(Wx + b) + c with a rectified activation f.
//
//   Lemma 1            sign_patterns          the sign patterns of a row space
//   Algorithms 1, 2    recover_any_inputs     exact, whatever the inputs, few units
//   Algorithms 3, 5    pattern_finish         exact, from rough directions
//   Algorithm 6        recover_signs          noise: signs by projection residuals; then fit_noisy
//   Algorithm 7        recover_few_outputs    exact, fewer outputs than units
//   Algorithm 8        fit_arbitrary_noise    noise of any kind, by enumeration within a budget
//   Section 3          relu_separability, indistinguishable_pair: where recovery is hard or impossible
//   Section 8          clean_outputs          a few entries hit by noise of any size
//   fast_ica           independent components, a start for Algorithm 5
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "exhume/activation.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"

#pragma GCC visibility push(default)
namespace exhume {

// The sign patterns of a row space (paper rectified, Lemma 1).
//
// For B (k x n), the patterns are the sets S for which some w has (wB)_i > 0 exactly for i in S; elsewhere it
// is negative or zero, which matters because the rows of f(VX) are zero there. In general position there are
//
//     2 sum_{i<k} C(n-1, i)        cells of the arrangement of the n hyperplanes w.B_i = 0 in R^k
//
// and they are found by adding one hyperplane after the other: every pattern of the columns so far keeps a
// point, that point decides one side of the new hyperplane, and a linear program (maximise the smallest
// positive entry) decides the other. No pattern is met twice and no k-subset is enumerated: at most one
// program a pattern and column.

using SignPattern = std::vector<bool>;  // n entries, true where positive

struct PatternBudget {
  Index most_patterns = 2'000'000;
};

struct SignPatterns {
  std::vector<SignPattern> patterns;
  bool complete = true;  // false where the budget or the deadline came first
  Index programs = 0;    // linear programs solved
};

[[nodiscard]] SignPatterns sign_patterns(const Matrix& B, const PatternBudget& budget,
                                         const Control& control);

// 2 sum_{i<k} C(n-1, i).
[[nodiscard]] double patterns_in_general_position(Index k, Index n);

// Exact recovery for any inputs and few units (paper rectified, Algorithms 1 and 2).
//
// Outputs without noise, Y = f(XW^T) A^T (n x m) of rank k, so that the columns of f(XW^T) are in the column
// space of Y, with basis B (n x k). For every sign pattern S of that space (patterns.h) the unit behind it,
// if there is one, is
//
//     w, z   with   x_j.w = B_j.z >= 1   for j in S
//                   B_j.z = 0 >= x_j.w   elsewhere
//                   B z   not in the span of the outputs of the units found
//
//     X: n x d     Y: n x m     W: k x d     A: m x k     no biases, no constant
//
// The equations are solved first (null vectors of the active set, to rounding); where they leave more than
// one direction, a linear program decides, with the independence constraint turned into up to 2n programs
// (Remark 1). k units make a network: A by regression. No assumption on X. O(n^(k-1)) patterns: for k up to
// 3 or 4.
//
// A network is found whenever there is one; it is *a* network that reproduces the samples, unique only where
// they are rich enough. Refuses where rank(Y) < k: then the problem is NP-hard (Section 3; hardness.h).

enum class AnyInputsOutcome {
  kExact,
  kRankDeficient,  // rank(Y) < k
  kRankExceeded,   // rank(Y) > k: noise or more units
  kNoNetwork,      // all patterns tried: no network of k units without biases reproduces the samples
  kBudget,         // patterns or time ran out
};

struct AnyInputsFit {
  AnyInputsOutcome outcome = AnyInputsOutcome::kNoNetwork;
  Network network;
  Index rank = 0;
  Index patterns = 0;  // enumerated
  Index programs = 0;  // linear programs solved
  double relative_mse = 1;
};

[[nodiscard]] AnyInputsFit recover_any_inputs(const Eigen::Ref<const RowMatrix>& x,
                                              const Eigen::Ref<const RowMatrix>& y, Index hidden,
                                              const PatternBudget& budget, const Control& control);

// Fewer outputs than units: rows in which one unit is active alone (paper rectified, Algorithm 7).
//
// Outputs without noise, y = A f(Wx), no two columns of A positive multiples of each other, m >= 2. Where
// only unit i is active, y is a positive multiple of a_i; rows with several active units have directions that
// never repeat. So equal directions y/|y| mark the rows of one unit, |y| on them is its output up to scale,
// and (w_i, b_i) follows from unit_from_output. Equal directions are found by sorting a random projection of
// them: O(n (m + log n)), not all pairs.
//
// Beyond the paper: found units are subtracted and the search repeats on what is left, in which more rows
// have a single active unit. So a unit needs d + 2 rows in which all units *not yet found* but itself are
// inactive, far fewer samples than kappa^O(k).
//
// Erratum: for m = 1 all outputs are multiples of each other and the algorithm cannot separate units,
// although the paper allows it.

struct FewOutputsOptions {
  Index hidden = 0;          // units to stop at; 0: until the outputs are reproduced
  double tolerance = 1e-11;  // directions that differ by less are equal
  std::uint64_t seed = 0;
};

enum class FewOutputsOutcome {
  kExact,
  kOneOutput,  // m = 1: directions say nothing
  kNoGroups,   // rows of a single active unit are missing, or there is noise
  kNotReproduced,
};

struct FewOutputs {
  FewOutputsOutcome outcome = FewOutputsOutcome::kNoGroups;
  Network network;
  Index first_groups = 0;    // units found before anything was subtracted
  Index smallest_group = 0;  // rows of the smallest group used
  double relative_mse = 1;
};

[[nodiscard]] FewOutputs recover_few_outputs(const Eigen::Ref<const RowMatrix>& x,
                                             const Eigen::Ref<const RowMatrix>& y, const Rectifier& rectifier,
                                             const FewOutputsOptions& options, const Control& control);

// Rows of r (n x m) with equal directions: groups of at least `least` rows, largest first. Rows no longer
// than `shortest` are left out.
[[nodiscard]] std::vector<std::vector<Index>> equal_directions(const Eigen::Ref<const RowMatrix>& r,
                                                               Index least, double shortest, double tolerance,
                                                               std::uint64_t seed);

// Exact recovery from patterns, without a polish (paper rectified, Algorithm 5 and steps 4-8 of Algorithm 3).
//
// Outputs without noise, y = A f(Wx + b) + c with A of full column rank k, span with the constant a space of
// functions of dimension k + 1 on the samples, and the output of unit i alone, f(w_i.x + b_i), is in it: the
// one function (up to scale) that vanishes wherever w_i.x + b_i <= 0. So with B the whitened outputs (n x k)
// and a rough direction v,
//
//     rows    { v.x + b < -margin sd(v.x) }            safely inactive, although v is only roughly right
//     null    [B 1] u = 0 on them                       smallest singular vector; its gap = s_last / s_before
//     h       = [B 1] u                                 the output of the unit on every row, exactly
//     w, b    from phi^-1(h) = w.x + b where h > 0      unit_from_output
//
// Both signs of v are tried: only the right one has a null vector (gap 1e-15 against order 1). With the new
// (w, b) the rows are chosen anew until the gap is at rounding. Units that no start led to are looked for in
// what the others leave of the outputs (fit/unit_search.h). Last, A and c by regression.
//
// Errata that matter here: the unknown multiplies the outputs, so it has k (not n) entries; "exactly zero off
// the pattern" is asked only of rows that are safely off it.
//
// Assumes rank k and no noise; nothing of the inputs' distribution beyond rough directions with 1 - |cos| up
// to a few hundredths. Cost O(n (k + d)) a unit and round, after an O(rows k^2) factorisation.

// The space of the outputs: B = (y - mean) P has orthonormal columns times sqrt(n), as many as the rank.
struct OutputSpace {
  Vector mean;             // m
  Matrix P;                // m x rank
  Vector singular_values;  // of the centred outputs over sqrt(n), decreasing
  Index rank = 0;          // singular values above `tolerance` times the first
};
[[nodiscard]] OutputSpace output_space(const Eigen::Ref<const RowMatrix>& y, double tolerance = 1e-10);

struct PatternOptions {
  double margin = 0.7;      // rows with |v.x + b| below this many standard deviations are left out
  double exact_gap = 1e-8;  // gap up to which a null vector is one
  int rounds = 10;          // of choosing rows anew
  Index most_rows = 6000;   // that a null vector is computed from
};

enum class PatternOutcome {
  kExact,          // every unit has a null vector and the outputs are reproduced
  kRankDeficient,  // the outputs span fewer than k dimensions
  kRankExceeded,   // they span more: noise, or more units
  kNoNullVector,   // some unit has none: see `gaps`
  kNotReproduced,  // all have one, but together they do not reproduce the outputs
};

struct PatternFinish {
  PatternOutcome outcome = PatternOutcome::kNoNullVector;
  Network network;  // the units with a null vector; A and c by regression
  Vector gaps;      // of every start, in order
  Index rank = 0;
  double relative_mse = 1;  // over all rows
};

// V: rough units, (any number) x (d+1), rows (v, b), sign open; repeats are dropped. k = `hidden`.
[[nodiscard]] PatternFinish pattern_finish(const Matrix& V, Index hidden,
                                           const Eigen::Ref<const RowMatrix>& x,
                                           const Eigen::Ref<const RowMatrix>& y, const Rectifier& rectifier,
                                           const PatternOptions& options, const Control& control);

// Independent component analysis: FastICA with symmetric decorrelation.
//
// Given whitened samples B (n x k: mean 0, covariance I) of B = S Q^T with independent columns of S and Q
// orthogonal, finds Q up to order and signs as the fixed point of
//
//     q_i <- E[ b g(q_i.b) ] - E[ g'(q_i.b) ] q_i,      Q <- Q (Q^T Q)^(-1/2)
//
// with g = tanh (robust) or g = u^3 (kurtosis). Hyvarinen, IEEE Trans. Neural Networks 10 (1999). O(n k^2)
// an iteration.

enum class Contrast { kTanh, kKurtosis };

struct IcaOptions {
  Contrast contrast = Contrast::kTanh;
  std::uint64_t seed = 0;
  int max_iterations = 300;
  double tolerance = 1e-10;  // stop when no component turns by more: 1 - |cos|
};

struct Ica {
  Matrix Q;  // k x k, orthogonal; component i is B Q.col(i)
  bool converged = false;
  int iterations = 0;
};

// B must be whitened. Throws std::invalid_argument where it is empty.
[[nodiscard]] Ica fast_ica(const Matrix& B, const IcaOptions& options, const Control& control);

// Signs of rough units from noisy outputs, by projection residuals (paper rectified, Algorithm 6), and the
// fit that follows (Section 5.2).
//
// For rough units v_j with open sign, the functions f(v_j.x), f(-v_j.x), all j, and the constant span a space
// that holds the signal. Leaving f(-v_i.x) out costs a_i+ in residual, leaving f(v_i.x) out costs a_i-:
//
//     a_i+ = |Y - P_{all but f(-v_i)} Y|^2
//     a_i- = |Y - P_{all but f(v_i)} Y|^2        v_i has the right sign where a_i+ <= a_i-
//
// All 2k residuals come from one Gram matrix of the 2k + 1 functions: O(n k (k + m)) once. Noise of any
// distribution with mean zero. For a ReLU, f(z) - f(-z) = z, so more than d units without bias make the
// functions dependent and the signs undecidable here: their margins are 0.

struct NoiseSigns {
  Vector signs;  // k, +-1
  // |a_i- - a_i+| over the variance of the noise: by chance, chi-squared with m degrees of freedom.
  Vector margins;
  double noise_variance = 0;  // residual of all 2k + 1 functions, mean over rows and outputs
};

// V: k x (d+1), rows (v, b).
[[nodiscard]] NoiseSigns recover_signs(const Matrix& V, const SampleSource& samples,
                                       const Rectifier& rectifier, const Control& control);

struct NoisyFit {
  Network network;
  NoiseSigns signs;
  Vector noise_variance;  // of every output
  double relative_mse = 1;
};

// Signs, A and c by regression, and, with `polish`, least squares over all parameters with every output
// weighted by its own noise: the maximum-likelihood fit for normal noise.
[[nodiscard]] NoisyFit fit_noisy(const Matrix& V, const SamplePtr& samples, const Rectifier& rectifier,
                                 bool polish, const Control& control);

// A few entries of the outputs hit by noise of any size (paper rectified, Section 8).
//
//     Y = L + E,     L = f(XW^T + b) A^T + c,  of rank k (k + 1 with c) far below m and n
//                    E  few entries, arbitrarily large
//
// Principal component pursuit, by the inexact augmented Lagrangian method (Lin, Chen and Ma):
//
//     min |L|_* + lambda |E|_1   subject to  L + E = Y,          lambda = 1 / sqrt(max(m, n))
//
//     L <- singular values of Y - E + Z/mu shrunk by 1/mu
//     E <- entries of Y - L + Z/mu shrunk by lambda/mu
//     Z <- Z + mu (Y - L - E),     mu grows,     until |Y - L - E|_F <= tolerance |Y|_F
//
// Only the singular triples above 1/mu are computed: block power iteration from the last ones, O(m n r) a
// step.
//
// Pursuit gives the subspace and the support to its tolerance. Then only clean entries count: the coordinates
// of every sample in the subspace are solved from its clean entries, the subspace from the clean entries of
// every output, the support is what does not fit, and so on until it stands. A sample, or an output, of which
// most entries misfit is solved again from few of its entries drawn at random. The cleaned outputs are exact
// to rounding and go to the exact finish (pattern_finish.h).
//
// Random numbers: the directions that a power iteration starts from, and the draws of entries. One seed.

struct PursuitOptions {
  double lambda = 0;  // 0: 1/sqrt(max(m, n))
  double tolerance = 1e-7;
  int max_iterations = 300;
  std::uint64_t seed = 0;  // of clean_outputs' draws too
};

struct Pursuit {
  Matrix L, E;
  Index rank = 0;  // of L
  int iterations = 0;
  bool converged = false;
};

[[nodiscard]] Pursuit principal_component_pursuit(const Matrix& Y, const PursuitOptions& options,
                                                  const Control& control);

// The leading singular triples of M (p x n), those above `floor`: block power iteration with `guess` (n x
// anything, may be empty) as the first directions. Values decreasing.
struct PartialSvd {
  Matrix U, V;
  Vector values;
};
[[nodiscard]] PartialSvd partial_svd(const Matrix& M, double floor, const Matrix& guess, std::uint64_t seed);

struct CleanOptions {
  PursuitOptions pursuit;
  double clean = 1e-9;  // an entry is clean where it is off by less, relative to the root mean square of L
  int rounds = 60;
};

struct CleanOutputs {
  RowMatrix y;                                   // cleaned, n x m
  std::vector<std::pair<Index, Index>> support;  // entries (row, output) that were hit, sorted
  Index rank = 0;
  bool exact = false;      // every entry off the support fits to `clean`
  double worst_clean = 0;  // largest misfit off the support, relative
  Pursuit pursuit;         // L and E emptied to save memory
};

[[nodiscard]] CleanOutputs clean_outputs(const Eigen::Ref<const RowMatrix>& y, const CleanOptions& options,
                                         const Control& control);

// Noise of any distribution and size, independent of the inputs (paper rectified, Algorithm 8).
//
//     Y = A f(Wx) + E,     x standard normal after standardising     goal: |Y - fit|_F <= (1 + eps) |E|_F
//
// If mu is a row of a left inverse of A, then mu.y = f(w.x) + mu.E, and its sign, once E is smoothed by added
// normal noise g, is a noisy label of a halfspace of normal w (Plan and Vershynin):
//
//     label_q = sign(mu.y_q - median + g_q),     v = argmax_{|v| <= 1} sum_q label_q (v.x_q)
//                                                  = sum_q label_q x_q / |sum_q label_q x_q|
//
// The paper enumerates all k x O(k) left inverses. But the halfspace of row p depends on row p of the inverse
// only, so here candidate *rows* are enumerated, on the sphere of the sketched outputs, within a stated
// budget, and the best k of the resulting directions are chosen by regression: budget + C(budget', k) instead
// of budget^k. For k <= 2 the rows are uniform on the sphere and the choice is exhaustive; for larger k they
// lie around the spectral estimate (clipped outputs, order 2) and the choice is greedy with exchanges. Last,
// least squares over all parameters (fit/polish.h). Biases start at 0. Cost: O(n (d + s)) a candidate, s the
// size of the sketch, then one Gram matrix of all candidates.

struct ArbitraryNoiseOptions {
  Index hidden = 1;
  Index budget = 400;         // candidate rows
  double smoothing = 1;       // sd of g over the interquartile range of mu.y
  Index sketch_per_unit = 4;  // the outputs are sketched to this many times k where they are more
  bool polish = true;
  std::uint64_t seed = 0;
};

struct ArbitraryNoiseFit {
  Network network;
  Index candidates = 0;      // distinct directions that came out of the budget
  Index chosen_from = 0;     // sets of k that were compared by regression
  double residual_norm = 0;  // |Y - fit|_F
  double relative_mse = 1;
};

[[nodiscard]] ArbitraryNoiseFit fit_arbitrary_noise(const SamplePtr& samples,
                                                    const ArbitraryNoiseOptions& options,
                                                    const Control& control);

// Where recovery is hard or impossible, as generators of instances (paper rectified, Section 3 and Lemma 16).
//
// ReLU-separability. From a 6-CNF on n variables: vectors q in R^(n+2), to be labelled 0 (set P) or 1 (set Q)
// by f(q.x) + f(q.y), f = max(., 0), for two unknown vectors x and y:
//
//     set   vectors q                                                   what they say
//     Q     +-e_i, i <= n                                               x_i = -y_i = +-1: variable i
//     Q     e_j, -2 e_j (j = n+1, n+2), e_{n+1} + e_{n+2}               x_{n+1} + x_{n+2} = 1/2, so for y
//     P     -(signed literals) - 10 e_{n+1} - 10 e_{n+2}, each clause   sum of literals >= -5: not all false
//
// Both x and y, which are opposite on the variables, obey the clauses, so the formula must be closed under
// complementing all variables. Then the instance is solvable exactly where the formula is satisfiable, and
// recovering the two units x and y from these samples is NP-hard: the outputs have rank 1, fewer
// than units.
//
// Erratum: the paper calls a formula reversible if it and its complement are both satisfiable or both not,
// which always holds. What the reduction uses is closure: the complement of every clause is a clause too.

// Clauses of non-zero literals: +v for variable v (from 1), -v for its negation.
struct Cnf {
  Index variables = 0;
  std::vector<std::vector<int>> clauses;
};

// DIMACS text: comment lines "c ...", one header "p cnf VARIABLES CLAUSES", literals ended by 0. Throws
// DataError naming the line.
[[nodiscard]] Cnf parse_dimacs(std::string_view text);

// Is the complement of every clause a clause too? And the formula made so by adding them.
[[nodiscard]] bool reversible(const Cnf& formula);
[[nodiscard]] Cnf with_complements(const Cnf& formula);

struct Separability {
  RowMatrix x;         // P, then Q, one vector a row: n + 2 columns (n + 3 with a free second layer)
  RowMatrix y;         // 0 on P, 1 on Q
  Index inactive = 0;  // rows of P
};

// Throws std::invalid_argument unless every clause has six literals and the formula is reversible. With
// `free_top` the second layer is unknown too: one more coordinate and two rows +-e force its entries to be
// positive (Theorem 2).
[[nodiscard]] Separability relu_separability(const Cnf& formula, bool free_top = false);

// By trying all 2^n assignments, n <= 24.
[[nodiscard]] std::optional<std::vector<bool>> satisfying_assignment(const Cnf& formula);

// Two vectors (rows) that solve the instance, without knowledge of the formula: for every row of Q the three
// ways in which f(q.x) + f(q.y) = 1 may come about, branch by branch, linear programs deciding. Exponential:
// for tiny instances.
[[nodiscard]] std::optional<Matrix> solve_separability(const Separability& instance, const Control& control);

// Lemma 16: two networks in the plane that agree wherever |x_1| > 2 |a x_2|, so no fewer than about 1/a
// samples tell them apart,
//
//     f(x) = (max(x_1 + s x_2, 0) + max(x_1 - s x_2, 0)) / 2     with s = a and s = 2a, rows of unit norm
struct IndistinguishablePair {
  Network first, second;
};
[[nodiscard]] IndistinguishablePair indistinguishable_pair(double a);

}  // namespace exhume
#pragma GCC visibility pop
