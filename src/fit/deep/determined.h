// How far the rows determine the weights of a deep network, layer by layer, to first order.
//
// H = J^T P J / n, J the Jacobian by the entries of all V_l (rows of unit norm), P the projection off what C
// may take up: the curvature of the fit (fit/deep/polish.h). A change t of the weights changes the outputs by
// (t^T H t)^(1/2), root mean square, so with B_l the block of H^-1 that belongs to layer l
//
//     smallest_l = lambda_max(B_l)^(-1/2),       |t_p| <= epsilon (H^-1)_pp^(1/2)    for every weight p
//
// where the outputs differ by epsilon at most. 0 where H is singular: then other weights give the same outputs.
//
// Rows on a unit's kink, |v.P_{l-1}| <= at_kink |P_{l-1}|, are left out. A weight that acts on no row may be moved until the unit
// would switch on at one, and there a polish that came from the far side ends, on the kink of that row: its slope says that the
// weight acts, and its output is the same without it.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "fit/polish.h"

namespace exhume {

struct Determined {
  std::vector<double> smallest;  // of every hidden layer
  double largest_error = 0;      // the largest (H^-1)_pp^(1/2)
  Matrix inverse;                // H^-1; empty where H is singular

  [[nodiscard]] double least() const;
};

// By chance one row and unit in a thousand million are as near, or in a hundred thousand.
inline constexpr double kAtKink = 1e-9, kAtKinkOfSingles = 1e-5;

[[nodiscard]] Determined how_determined(const Form& plain, const DeepData& data, const Control& control,
                                        double at_kink = kAtKink);

}  // namespace exhume
