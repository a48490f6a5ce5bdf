// Jacobians of what can be asked at points that lie between kinks.
//
//     J = df/du in R^{m x s},     J e_a = (f(u + h e_a) - f(u)) / h
//
// The steps must not pass a kink. One query more in a random direction (h times +-1 in every coordinate)
// tells: it agrees with J exactly where none was passed; otherwise the step shrinks and the point is asked
// about again. s + 2 queries per point, all points in one batch.
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/types.h"
#include "extract/space.h"

namespace exhume {

struct LocalLinear {
  Vector point;     // u
  Vector value;     // f(u), m
  Matrix jacobian;  // m x s
  double step = 0;  // h
  bool agreed = false;
};

// steps: the first h of every point.
[[nodiscard]] std::vector<LocalLinear> jacobians(const AskNoisy& ask, const Space& space,
                                                 const RowMatrix& points, const Vector& steps,
                                                 std::uint64_t seed);

}  // namespace exhume
