// The columns of units that hardly act, from pairs of questions on either side of their planes.
//
// The equations of extract/columns.h tell c_j W_ji, and with one error for all units: where an amplitude is a
// thousandth of the others', so are the digits. Such a unit j is asked about alone. From x = x0 + B^T u + h B_i
// with z_j(x) = 0 to either side, along the unit vector w_j of the subspace and not as far as any other plane,
//
//     f(x + T w_j) - f(x - T w_j) = 2 T g_j + c_j (|T + tau| - |T - tau|) = 2 T g_j + 2 c_j tau,
//     tau = h (W_ji - the weight it was taken for),
//
// where g_j, the slope of all other units along w_j, is known and their columns cancel. As T may be short,
// h need not stop at the next plane: it is so long that the answers are made of it, and tau / h is off by their
// rounding over c_j h, some tens of times less than from the equations. Two questions for a unit and direction.
#pragma once

#include <cstdint>
#include <vector>

#include "extract/noise.h"
#include "model/separable_model.h"
#include "oracle/meter.h"

namespace exhume {

struct WeakUnitsOptions {
  std::uint64_t seed = 0;
  AnswerNoise noise;
  double scale = 1;  // distance within which the planes lie
};

// Sharpens the columns s, ..., d-1 of W (k x d, in the frame's coordinates) in the rows of `units`, whose entries
// are off by `errors` (k) at most, give or take a small factor. `within`: as for all_columns.
void sharpen_weak_units(Meter& meter, const SeparableModel& within, const std::vector<Index>& units,
                        const Vector& errors, const WeakUnitsOptions& options, Matrix& W);

}  // namespace exhume
