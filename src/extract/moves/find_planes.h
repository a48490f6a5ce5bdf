// Move: planes of the first layer: those along which f bends wherever they are met.
//
//     V: k x (s+1), rows (w_j, b_j), |w_j| = 1:     f bends where w_j.u + b_j = 0, all along
//
//   needs     nothing
//   asks      about 8 queries per kink, 2 (s + 2) for every kink that is not on a known plane, and 4 (s + 8)
//             per plane
//   time      an SVD of m x s per kink, a least-squares fit of s + 1 unknowns per plane
//   changes   planes; kinks and Jacobians of the evidence, its scale with the first line
//
// A unit of the first layer bends f along one and the same plane; units above bend it along broken ones. At
// every kink of a line the jump of the Jacobian gives the plane there (extract/jacobian.h). Then f is asked
// at places of that plane far from the line (extract/kink.h): a plane that bends f at nearly all places where
// f is alive belongs to the first layer. The places of its kinks, known to the last digits, give it once more
// by least squares. Lines end when several in a row show no plane that was not known.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "extract/evidence.h"

namespace exhume {

struct PlanesOptions {
  std::uint64_t seed = 0;
  double farthest = 40;          // how far a line leads where there is no box, in units of its scale
  int least_lines = 3;           // in one go
  int quiet_lines = 2;           // that show no new plane, in a row, after which it ends
  int most_lines = 12;           // in one go
  std::vector<Segment> through;  // that the first lines pass through
  std::function<bool(const Vector& u)> explained;  // kinks of units that are known already; may be empty
  // Several outputs in a box: planes bend f everywhere, and by jumps that turn.
  bool strict = false;
};

// Adds what further lines show.
void find_planes(const Space& space, const PlanesOptions& options, QueryEvidence& evidence, Matrix& planes);
// The same with lines through these segments only.
void find_planes_along(const Space& space, PlanesOptions options, std::vector<Segment> through,
                       QueryEvidence& evidence, Matrix& planes);

// The same for kinks that were met on segments: planes, or kinks of units above.
void judge_kinks(const Space& space, const PlanesOptions& options, const std::vector<Kink>& kinks,
                 const std::vector<Segment>& ends, QueryEvidence& evidence, Matrix& planes);

}  // namespace exhume
