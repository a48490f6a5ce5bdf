// Move: all weights outside the subspace, from the network within it: linear systems with one matrix.
//
//   needs     a single hidden layer, known within the subspace
//   asks      about 1.3 (k + m) / m (d - s) queries, and 2 (d - s) for each unit that hardly acts
//   time      at most 2e9 operations for the choice of points, then P m (k + m) per direction
//   changes   nothing: the network in the user's coordinates is returned
//
// At points u_p of the subspace the units' values z_jp are known. A step h along the direction B_i of the
// frame (oracle/frame.h), i >= s, changes the output by
//
//     f(u_p + h B_i) - f(u_p) = sum_j c_j (|z_jp + h W_ji| - |z_jp|) + h L_i
//                             = h (sum_j c_j sgn(z_jp) W_ji + L_i)            where no unit changes sign,
//
// linear in the k + m unknowns (W_1i, ..., W_ki, L_i) of that direction, with one matrix for all directions.
// About (k + m) / m points do, taken by pivoted QR of the sign patterns from candidates whose margins are
// wide, until the matrix with columns of unit norm has no small singular value. Steps are as long as margins
// allow: the error is that of the answers over h. Units that changed sign after all show in the solution; the
// system is then solved again with their signs, and directions whose equations do not hold are queried
// again with shorter steps.
//
// These equations tell c_j W_ji, with one error for all units: where an amplitude is a thousandth of the
// others', so are the digits. Such a unit j is queried by itself. From x = x0 + B^T u + h B_i with z_j(x) = 0
// to either side, along the unit vector w_j of the subspace and not as far as any other plane,
//
//     f(x + T w_j) - f(x - T w_j) = 2 T g_j + c_j (|T + tau| - |T - tau|) = 2 T g_j + 2 c_j tau,
//     tau = h (W_ji - the weight it was taken for),
//
// where g_j, the slope of all other units along w_j, is known and their columns cancel. As T may be short, h
// need not stop at the next plane: it is so long that the answers are made of it, and tau / h is off by their
// rounding over c_j h, some tens of times less than from the equations.
#pragma once

#include <cstdint>

#include "extract/space.h"
#include "model/separable_model.h"

namespace exhume {

// One unit for so many points may be queried by itself, which costs as much as two of them.
inline constexpr Index kPointsPerWeakUnit = 40;

struct ColumnsOptions {
  std::uint64_t seed = 0;
  AnswerNoise noise;
  double scale = 1;   // distance within which the planes lie
  double over = 1.3;  // equations per unknown, at least
};

// `within`: sign-free, in the subspace's coordinates. Returns the same in the user's: V: k x (d+1), C:
// (k+d+1) x m.
[[nodiscard]] SeparableModel fill_columns(Meter& meter, const SeparableModel& within,
                                          const ColumnsOptions& options);

}  // namespace exhume
