// Units from standardised coordinates back to the user's.
//
//     w = P^T w',     b = b' - w.mu          rows (w', b') and (w, b): k x (d+1)
#pragma once

#include "moments/standardise.h"

namespace exhume {

[[nodiscard]] Matrix user_units(const Matrix& standard, const Standardisation& coordinates);

}  // namespace exhume
