// Places in a box at which units switch that hardly do at random ones.
//
// At uniform inputs a sum of many weights hardly varies: a trained unit is on at nearly all of them, or at
// none. Two kinds of places vary more:
//
//     dark to bright   x = clip(mean + noise), its mean from beyond dark to beyond bright: most coordinates
//                      at the walls
//     climbs           x with sum_j g_j h_j(x) large, h = max(V (x, 1), 0) of a known first layer, g random,
//                      some of it 0: x <- corner by the signs of the slope there, some units at random taken
//                      for on, a few times
//
// A unit of the second layer is a sum over h: in climbs it is on, or off, some hundred times as often.
#pragma once

#include <cstdint>

#include "extract/space.h"

namespace exhume {

// count x d, rows from `first` on; all at least a hundredth of the box off its walls, where Jacobians are
// asked for.
[[nodiscard]] RowMatrix dark_to_bright(const Space& space, std::uint64_t seed, std::uint64_t first,
                                       Index count);

// V: k x (d+1), on where V (x, 1) > 0.
[[nodiscard]] RowMatrix climbs(const Space& space, const Matrix& V, std::uint64_t seed, std::uint64_t first,
                               Index count);

// The same for given g: as many rows as `g` has, of k columns.
[[nodiscard]] RowMatrix climbs_to(const Space& space, const Matrix& V, const RowMatrix& g, std::uint64_t seed,
                                  std::uint64_t first);

// Every other row of the one and of the other; without a first layer (no rows) all of the first kind.
[[nodiscard]] RowMatrix far_places(const Space& space, const Matrix& V, std::uint64_t seed,
                                   std::uint64_t first, Index count);

}  // namespace exhume
