// A unit of the last layer that is on for all rows but a handful, and the signs of the others with it.
//
//     f = U |q| + R (h, 1),   q = V (h, 1)           sign-free, on the outputs h of the layer below; exact on all rows
//                                                    but those left over
//     R = U diag(s) V + a w^T   (but the constant)   if a plain network with one unit more, a max(w.h + b, 0), is behind it
//     y - f = -a (w.h + b)                           on the rows left over, where that unit is off
//
// While it is on, a unit passes the layer below on as it is: any signs s go with some w, and no row tells which. The rows on which
// it is off do, although they are far fewer than its weights. With alpha the direction of a, and b free,
//
//     sum_j s_j (alpha.U_j) V_j (h - mean h) = alpha.R (h - mean h) + alpha.(y - f - mean)      for every row left over
//     sum_j s_j (e.U_j) V_j = e.R                                                               for every e across alpha
//
// are linear in the signs, and two or three rows are enough to tell twenty signs (fit/sign_lattice.h, fit/deep/sign_halves.h). Then w
// and b follow.
#pragma once

#include <optional>

#include "fit/data.h"
#include "model/form.h"

namespace exhume {

// form: one hidden layer, sign-free; left: the rows that it does not reproduce, in its inputs. The rows of V turned as their signs
// say, and below them that unit. Nothing where no such unit explains the rows, or these do not tell the signs.
[[nodiscard]] std::optional<Matrix> with_nearly_linear_unit(const Form& form, const DeepData& left);

}  // namespace exhume
