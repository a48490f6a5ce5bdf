// Small linear programs, by Clp's dual simplex.
//
//     maximise objective . x    subject to  low <= M x <= high,   bound_low <= x <= bound_high
//
// Infinite bounds are +-infinity of double. Feasible up to 1e-9 in every row, so rows should be of order 1.
#pragma once

#include <optional>

#include "exhume/base/types.h"

namespace exhume {

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
