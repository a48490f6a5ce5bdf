// Move: from sign-free layers to a plain network: signs below, rows again, units that were met twice,
// outputs. Asks nothing; empty where signs are not determined.
//
// A sign-free row says nothing of units below whose surfaces its own does not cross. Once the signs s of the
// layer below are known, from the rows that say all,
//
//     R = U diag(s) V                                                            (fit/deep/signs.h)
//
// a unit is z = w.h(u) + b with h = max(s q, 0), and every place at which it was met is an equation for (w,
// b), as is the slope at the kink where it was found. Only units that are off all along the surface stay
// open. Two rows that agree in what both say are one unit, met on two parts of its surface: their equations
// are joined.
//
// The outputs on (|z|, h, 1) of the last hidden layer give its signs, and the open weights that the outputs
// tell.
#pragma once

#include <vector>

#include "extract/hypothesis.h"
#include "model/form.h"

namespace exhume {

// s with U diag(s) V = R by least squares: near -1 or 1 where the rows above tell it. U: n x k, V: k x c, R:
// n x c, without the constants.
[[nodiscard]] Vector signs_between(const Matrix& U, const Matrix& V, const Matrix& R);

// first: V_1; above: the units of every further layer; u, y: random queries; signs of the first layer where
// they are known, otherwise empty. The form is plain, its C fitted; empty where signs are not determined.
[[nodiscard]] DeepForm assemble_network(const Matrix& first, const std::vector<std::vector<FoundUnit>>& above,
                                        const RowMatrix& u, const RowMatrix& y, const Vector& signs = {});

}  // namespace exhume
