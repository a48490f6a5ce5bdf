// The ends of the spectrum of a large symmetric matrix on a device, by a block Krylov space.
//
//     K = span{X, A X, ..., A^(s-1) X},  X: p x b at random;   eigenpairs of A restricted to K
//
// Blocks are made orthonormal against all before them, twice, so that the basis of K is orthonormal to
// rounding. Ritz values lie within the spectrum; those that stand out from the rest are found to many digits,
// those at the edge of the bulk to a few. Cost: 4 p^2 s b flops for products, 4 p (s b)^2 for the basis.
#pragma once

#include <cstdint>

#include "engine/device.h"
#include "exhume/types.h"

namespace exhume {

struct RitzPairs {
  Vector values;                 // ascending: both ends are near eigenvalues, the middle is not
  DeviceMatrix<double> vectors;  // (number of values) x p: rows, in the order of the values
};

// A: p x p, both triangles. s b <= p.
[[nodiscard]] RitzPairs ritz_pairs(Device& device, const DeviceView<double>& A, Index block, Index blocks,
                                   std::uint64_t seed);

}  // namespace exhume
