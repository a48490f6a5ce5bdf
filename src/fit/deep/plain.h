// The plain network behind a sign-free form that the rows do not determine, layer by layer from below.
//
// A unit that acts on few rows may see every unit below it on one side only. There |z| = +-z is no feature of
// its own: other weights on |z| and x do the same on these rows, and the systems for the signs (fit/signs.h)
// are not met although the function is that of a plain network. So the signs of one layer are read from the
// units that do tell them,
//
//     minimise over s   sum_r | R_r - U_r diag(s) V_1 |    (r: rows of V_2, ..., V_D, C^T, each of unit norm)
//
// and then h_1 = max(s z, 0) takes the place of x: every upper unit is expressed in h_1 by least squares, on
// all rows or, where that is not exact, on the side of its kink where it is. The form in h_1 has fewer
// weights, is polished, and the next layer follows.
#pragma once

#include <optional>

#include "exhume/control.h"
#include "fit/polish.h"

namespace exhume {

// Nothing where a layer is not reproduced to `exact` (relative mean square). each: equations per unknown.
// left: rows that the form does not reproduce, if any; they may show a unit that is on for all others
// (add_nearly_linear_unit).
[[nodiscard]] std::optional<Form> find_plain_by_rows(const Form& sign_free, const DeepData& data,
                                                     const DeepData* left, double each, double exact,
                                                     const Control& control);

// The signs of the last layer's units where the rows leave some of their weights open.
//
//     f = U |q| + R (h, 1),   q = V (h, 1)         sign-free, on the outputs h of the layer below
//     R_oa = sum_j U_oj s_j V_ja                   for every input a, if f is a plain network
//
// |q_j| is q_j on one side of its kink and -q_j on the other. An input that is zero on all rows of one of
// these sides leaves V_ja open: another value changes R with it and no output. Its equations say nothing of
// the signs; the others, fewer than there are signs, still do. Then the equations that were left out give the
// weights that were open: on the other side a plain network has no R to make up for them.
struct OpenSigns {
  Vector s;
  Matrix V;  // with the weights that were open
};
// form: one hidden layer, sign-free, on inputs h (rows x columns). Nothing where no weight is open, where two
// units leave the same one open, or where the other equations do not tell the signs.
[[nodiscard]] std::optional<OpenSigns> signs_with_open_weights(const Form& form,
                                                               const Eigen::Ref<const RowMatrix>& h);

// A unit of the last layer that is on for all rows but a handful, and the signs of the others with it.
//
//     f = U |q| + R (h, 1),   q = V (h, 1)           sign-free, exact on all rows but those left over
//     R = U diag(s) V + a w^T   (but the constant)   if a plain network with one unit more, a max(w.h + b, 0)
//     y - f = -a (w.h + b)                           on the rows left over, where that unit is off
//
// While it is on, a unit passes the layer below on as it is: any signs s go with some w, and no row tells
// which. The rows on which it is off do, although they are far fewer than its weights. With alpha the
// direction of a, and b free,
//
//   sum_j s_j (alpha.U_j) V_j (h - mean h) = alpha.R (h - mean h) + alpha.(y - f - mean)    every row left
//   sum_j s_j (e.U_j) V_j = e.R                                                             every e across
//
// are linear in the signs, and two or three rows are enough to tell twenty of them. Then w and b follow.
//
// form: one hidden layer; left: the rows that it does not reproduce, in its inputs. The rows of V turned as
// their signs say, and below them that unit. Nothing where no such unit explains the rows, or these do not
// tell the signs.
[[nodiscard]] std::optional<Matrix> add_nearly_linear_unit(const Form& form, const DeepData& left);

}  // namespace exhume
