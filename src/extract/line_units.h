// The units that a line meets: kinks along it, Jacobians between them, rank-one jumps.
//
//     r(u) = f(u) - model(u),   along u = p + t v:   kinks t_1 < ... < t_q,   Jacobians J_0, ..., J_q between
//
//     J_j - J_{j-1} = 2 c_j w_j^T,    |w_j| = 1, w_j.v > 0,      b_j = -w_j.(p + t_j v)
//
// and r = sum_j c_j |w_j.u + b_j| + linear: the linear part is what the first gap asks for. A kink where the
// model has a unit already corrects the unit's amplitude; one that loses all of it is dropped (two kinks that
// passed for one). With several outputs a jump that is not of rank one is left to further lines.
#pragma once

#include <cstdint>
#include <vector>

#include "extract/space.h"
#include "model/separable_model.h"

namespace exhume {

struct LineTask {
  Vector p, v;               // v of unit norm
  double low = 0, high = 0;  // of t
  double scale = 1;          // distance at which kinks are about
  double model_error = 0;    // of the model's values, as a share of its terms
  int intervals = 32;        // to begin with (extract/line.h)
  std::uint64_t seed = 0;
};

struct LineUnits {
  std::vector<double> kinks;
  Index changed = 0;  // units that are new, and 1 where amplitudes were corrected
};
// Adds what it finds to `model`: sign-free, with a linear term, its C empty at first.
LineUnits units_of_line(const Space& space, const LineTask& task, SeparableModel& model);

// A line through p along v, as far as the box allows, or `farthest` to either side where there is none.
[[nodiscard]] LineTask line_through(const Space& space, const Vector& p, const Vector& v, double farthest);

// Where Jacobians are asked for: between kinks, and beyond the outermost ones as far as kinks are apart from
// each other.
struct Gap {
  double middle = 0, half = 0;  // t, and half the width
};
[[nodiscard]] std::vector<Gap> gaps_between(const LineTask& task, const std::vector<double>& kinks);

// Sizes of the terms that the model adds up, at every row of u.
[[nodiscard]] Vector term_sizes(const SeparableModel& model, const RowMatrix& u);

// What the model leaves of the answers.
[[nodiscard]] NoisyAnswers residual(const Space& space, QueryStage stage, const SeparableModel& model,
                                    double model_error, const RowMatrix& u);

}  // namespace exhume
