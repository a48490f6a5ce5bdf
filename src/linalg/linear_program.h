// Small linear programs, by Clp's dual simplex.
//
//     maximise objective . x    subject to  low <= M x <= high,   bound_low <= x <= bound_high
//
// No bound is +-kUnbounded. Feasible up to 1e-9 in every row, so rows should be of order 1.
#pragma once

#include <limits>
#include <optional>

#include "exhume/types.h"

namespace exhume {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct LinearProgram {
  Matrix M;
  Vector low, high;              // rows of M
  Vector bound_low, bound_high;  // columns of M
  Vector objective;              // columns of M; zero asks only for a feasible point
};

// The optimum, or nothing where the program is infeasible or unbounded. Throws std::invalid_argument where
// the sizes do not fit together.
[[nodiscard]] std::optional<Vector> solve(const LinearProgram& program);

}  // namespace exhume
