// The plain network behind a sign-free form that the rows do not determine, layer by layer from below.
//
// A unit that acts on few rows may see every unit below it on one side only. There |z| = +-z is no feature of its own:
// other weights on |z| and x do the same on these rows, and the systems for the signs (fit/deep/signs.h) are not met
// although the function is that of a plain network. So the signs of one layer are read from the units that do tell them,
//
//     minimise over s   sum_r | R_r - U_r diag(s) V_1 |       (r: rows of V_2, ..., V_D, C^T, each of unit norm)
//
// and then h_1 = max(s z, 0) takes the place of x: every upper unit is expressed in h_1 by least squares, on all rows or,
// where that is not exact, on the side of its kink where it is. The form in h_1 has fewer weights, is polished, and the
// next layer follows. Weights of the last layer that are open still do not keep its signs from being told
// (fit/deep/open_signs.h).
#pragma once

#include <optional>

#include "exhume/control.h"
#include "fit/polish.h"

namespace exhume {

// Nothing where a layer is not reproduced to `exact` (relative mean square). each: equations an unknown. left: rows that
// it does not reproduce, if any; they may show a unit that is on for all others (fit/deep/nearly_linear.h).
[[nodiscard]] std::optional<Form> plain_by_rows(const Form& sign_free, const DeepData& data,
                                                    const DeepData* left, double each, double exact,
                                                    const Control& control);

}  // namespace exhume
