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
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

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

}  // namespace exhume
