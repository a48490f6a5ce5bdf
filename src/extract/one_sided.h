// Units that are on wherever was asked: they pass for skip terms, and their kinks are far from all lines.
//
// With the units of a layer known as sign-free rows V (k x c, on the features P below it), what lies above sees
//
//     U |V P| + R P,      R = U diag(s) V + sum_r a_r v_r^T,      s in {-1, 1}^k
//
// where the sum is over units that are always on. What R leaves when the signs s are taken off are rows v_r. With one
// row above (one output) any signs s leave a row: then some are drawn. Such a unit switches where v_r.P is least or
// most: there f is asked (extract/climb.h).
#pragma once

#include <cstdint>
#include <vector>

#include "exhume/types.h"

namespace exhume {

// U: M x k, R: M x c with the constant last, V: k x c. At most `most` rows on P; none where the known units explain R.
[[nodiscard]] std::vector<Vector> one_sided_rows(const Matrix& U, const Matrix& R, const Matrix& V,
                                                 std::uint64_t seed, std::size_t most);

}  // namespace exhume
