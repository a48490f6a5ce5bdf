// All weights outside the subspace, from the network within it: linear systems with one matrix.
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
// system is then solved again with their signs, and directions whose equations do not hold are asked about
// again with shorter steps. Units that hardly act come out with few digits, and get the others by themselves
// (extract/weak_units.h).
#pragma once

#include <cstdint>

#include "extract/noise.h"
#include "model/separable_model.h"
#include "oracle/meter.h"

namespace exhume {

// One unit for so many points may be asked about alone (extract/weak_units.h), which costs as much as two of them.
constexpr Index kPointsPerWeak = 40;

struct ColumnsOptions {
  std::uint64_t seed = 0;
  AnswerNoise noise;
  double scale = 1;   // distance within which the planes lie
  double over = 1.3;  // equations for every unknown, at least
};

struct Columns {
  SeparableModel model;  // sign-free, in the user's coordinates: V: k x (d+1), C: (k+d+1) x m
  Index points = 0;      // P
  double smallest_singular = 0;
  double worst = 0;       // largest residual of an equation over the noise of its answers
  Index asked_again = 0;  // directions
  Index weak = 0;         // units that were asked about alone
};

// `within`: sign-free, in the subspace's coordinates.
[[nodiscard]] Columns all_columns(Meter& meter, const SeparableModel& within, const ColumnsOptions& options);

}  // namespace exhume
