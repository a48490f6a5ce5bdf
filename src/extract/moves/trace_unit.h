// Move: a unit above known layers, from one of its kinks: its broken plane is followed from piece to piece.
//
//   needs     layers below that are known up to signs, and a kink above them
//   asks      about 12 queries per unit below
//   time      K^2 s operations per crossing with K units below, and a least-squares fit of K unknowns per
//             equation
//   changes   nothing: the row of the unit is returned, with what is open of it, or where its surface was
//             lost
//
// With the layers below known up to signs (extract/sign_free_layers.h) the unit is z(u) = U.|q(u)| + r.u +
// beta. At a kink p its slope g is known up to scale, which is free. So only U is unknown:
//
//     r = g - sum_i U_i sigma_i G_i,    beta = -g.p - sum_i U_i sigma_i c_i           (sides and slopes at p)
//
// The surface z = 0 is followed within a slice, a random plane of two dimensions through p, where it is a
// broken line. Where it crosses a surface q_j = 0 its slope changes by kappa G_j, and kappa is linear in U:
// U_j, and the parts of units above q_j that see it. If the equations so far do not determine kappa, the kink
// is looked for on a short line just beyond, parallel to q_j = 0; then its place far out on the new piece
// gives kappa to the last digits, and one equation more. Slices are cut until U is determined: they cost
// nothing where all is known. A unit of a higher layer is broken where no known unit is, and is given up.
//
// Once the signs of the layer just below are known (extract/moves/assemble_network.h), with rows B_j that are
// its units after max(., 0), z = x.B P + beta has as many unknowns x as that layer has units. The slope at p
// says those that are on there, and whether the kink belongs to this layer at all; only surfaces of that
// layer's units say more.
//
// Further kinks of the same unit, where they are known to be, give s equations each: z = 0 there, and a slope
// along the normal. With several outputs kinks of a unit of the last hidden layer are told by the direction
// of their jumps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "extract/evidence.h"
#include "extract/sign_free_layers.h"
#include "extract/surface.h"

namespace exhume {

struct TraceOptions {
  std::uint64_t seed = 0;
  double scale = 1;      // distance of planes from the middle
  double farthest = 60;  // in scales, from the kink
  int most_slices = 80;
  int most_breaks = 3;     // ends of the surface where nothing known ends it
  std::vector<Kink> same;  // further kinks of this unit: equations that cost nothing
  Matrix plain;            // B, units just below x columns of a row; none where their signs are open
};

// A straight part of the surface, of unit normal, along which it was lost: a surface that is not known breaks
// it.
struct Lost {
  Vector from, to, normal;
};

struct TracedUnit {
  std::optional<Vector> row;  // on (|Q_l|, ..., |Q_1|, u, 1), of unit norm; empty where it was given up
  Index open = 0;             // units below whose part is not determined: the surface does not cross theirs
  Matrix free;                // so many directions of rows x columns of the row: what may be added to it
  std::vector<MetPlace> met;  // places far out at which it was met
  int breaks = 0;
  Index agreed =
      0;  // equations of the slope at the kink beyond the unknowns, which hold: it belongs to this layer
  std::vector<std::vector<Lost>> lost;  // for every break, the parts since it was last met
};

[[nodiscard]] TracedUnit trace_unit(const Space& space, const SignFreeLayers& below, const Kink& kink,
                                    const TraceOptions& options);

// Kinks beside the part along which the surface was lost: of it and of what breaks it.
[[nodiscard]] std::vector<Kink> kinks_at_break(const Space& space, const std::vector<Lost>& parts,
                                               double scale, std::uint64_t seed);

// One row for two that are of the same unit, met on different parts of its surface: a + free_a x = lambda b +
// free_b y. Empty where there is none.
[[nodiscard]] std::optional<Vector> joined_row(const Vector& a, const Matrix& free_a, const Vector& b,
                                               const Matrix& free_b);

}  // namespace exhume
