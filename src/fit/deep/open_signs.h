// The signs of a layer's units where the rows leave some of their weights open.
//
//     f = U |q| + R (h, 1),   q = V (h, 1)              sign-free, on the outputs h of the layer below
//     R_oa = sum_j U_oj s_j V_ja                        for every input a, if f is a plain network (fit/deep/signs.h)
//
// |q_j| is q_j on one side of its kink and -q_j on the other. An input that is zero on all rows of one of these sides leaves V_ja
// open: another value changes R with it and no output. Its equations say nothing of the signs; the others, fewer than there are
// signs, still do (fit/sign_lattice.h). Then the equations that were left out give the weights that were open: on the
// other side a plain network has no R to make up for them.
#pragma once

#include <optional>

#include "model/form.h"

namespace exhume {

struct OpenSigns {
  Vector s;
  Matrix V;  // with the weights that were open
};

// form: one hidden layer, sign-free, on inputs h (rows x columns). Nothing where no weight is open, where two units leave the same
// one open, or where the other equations do not tell the signs.
[[nodiscard]] std::optional<OpenSigns> signs_with_open_weights(const Form& form,
                                                               const Eigen::Ref<const RowMatrix>& h);

// s of M s = right: the only signs that meet the equations to `error` of their norm where they are fewer than signs, nothing where
// there is no one such; otherwise those of the solution.
[[nodiscard]] std::optional<Vector> signs_that_solve(const Matrix& M, const Vector& right, double error);

}  // namespace exhume
