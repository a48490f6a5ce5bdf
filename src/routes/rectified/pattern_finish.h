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
#pragma once

#include "exhume/control.h"
#include "model/rectified_network.h"

namespace exhume {

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

}  // namespace exhume
