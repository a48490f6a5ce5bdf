// Signs out of fewer equations than there are signs.
//
//     M s = v,  s in {-1, +1}^k        M: r x k, r < k, real
//
// 2^k sign vectors meet r real equations of many digits each, so as a rule one of them fits and no other does,
// although linear algebra leaves k - r dimensions open. With s = 1 - 2 z, z in {0, 1}^k, the equations are
// M z = h, h = (M 1 - v) / 2: a point of the lattice of all
//
//     (z, C M z)  in R^(k + r),  z integer
//
// lies at distance k^(1/2) / 2 of (1/2, C h), for any weight C. The larger C, the longer the vectors of the
// reduced lattice: where none is shorter than k^(1/2), rounding leads to that point and no other is as near, which
// proves that there is no second sign vector (linalg/lattice.h). C grows fourfold from 1, each time from the
// reduced lattice before, as long as M s = v holds to the digits that it asks for. About k log2(1.02^k k^(1/2)) / r
// binary digits of the equations are needed: 15 for k = 2 r = 128.
#pragma once

#include <optional>

#include "exhume/types.h"

namespace exhume {

struct SignPoint {
  Vector signs;          // the only ones that may fit
  double miss = 0;       // |M s - v|
  double runner_up = 0;  // every other sign vector misses by more than this
};

// The only sign vector with |M s - v| <= error; none where `error` leaves too few digits to tell, or none fits.
[[nodiscard]] std::optional<SignPoint> only_signs(const Matrix& M, const Vector& v, double error);

}  // namespace exhume
