// Planes of the first layer of a deep network: those along which it bends wherever they are met.
//
//     V: k x (s+1), rows (w_j, b_j), |w_j| = 1:     f bends where w_j.u + b_j = 0, all along
//
// A unit of the first layer bends f along one and the same plane; units above bend it along broken ones. At
// every kink of a line the jump of the Jacobian gives the plane there (extract/jacobian.h). Then f is asked at
// places of that plane far from the line (extract/bend.h): a plane that bends f at nearly all places where f is
// alive belongs to the first layer. The places of its kinks, known to the last digits, give it once more by
// least squares. Lines end when several in a row show no plane that was not known.
//
// About 8 questions a kink, 2 (s + 2) for every kink that is not on a known plane, and 4 (s + 8) a plane.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "extract/jacobian.h"
#include "extract/space.h"

namespace exhume {

// A place where f bends and that no known plane explains.
struct UpperKink {
  Vector place;      // s
  Vector normal;     // s, unit norm: the Jacobian jumps by jump normal^T
  Vector jump;       // m
  double error = 0;  // of the normal
};

struct PlanesOptions {
  std::uint64_t seed = 0;
  double farthest = 40;  // how far a line leads where there is no box, in units of its scale
  int least_lines = 3;   // in one go
  int quiet_lines = 2;   // that show no new plane, in a row, after which it ends
  int most_lines = 12;   // in one go
  std::vector<std::pair<Vector, Vector>> through;  // pairs of places that the first lines pass through
  std::function<bool(const Vector& u)> explained;  // kinks of units that are known already; may be empty
  // Several outputs in a box: planes bend f everywhere, and by jumps that turn.
  bool strict = false;
};

struct Planes {
  Matrix V;                         // k x (s+1)
  std::vector<UpperKink> upper;     // of all lines
  Index upper_on_line = 0;          // most on one of them
  double scale = 1;                 // distance of planes from the middle
  int lines = 0, judged = 0;        // so far: lines, and calls of judge_kinks
  std::vector<double> line, kinks;  // t of the first line's ends, and of its kinks
  Matrix slopes;                    // rows of Jacobians that were met in a box, of unit norm: any number x s
  std::vector<LocalLinear> pieces;  // Jacobians that were met
};

// Adds what further lines show.
void more_planes(const Space& space, const PlanesOptions& options, Planes& planes);

// The same for kinks that were met on segments between two places each: planes, or kinks of units above.
void judge_kinks(const Space& space, const PlanesOptions& options, const std::vector<UpperKink>& kinks,
                 const std::vector<std::pair<Vector, Vector>>& ends, Planes& planes);

// Places at random about the middle of the domain, as far out as the planes lie: count x s, rows from `first` on.
//
// In a box a sum of many weights hardly varies at random places, and most units stay on or off. They switch on the way to
// corners to which the function itself points: by the signs of random combinations of its slopes.
[[nodiscard]] RowMatrix places_about(const Space& space, const Planes& planes, std::uint64_t seed,
                                     std::uint64_t first, Index count);

// Such corners: count x s.
[[nodiscard]] RowMatrix corners_about(const Space& space, const Planes& planes, std::uint64_t seed,
                                      std::uint64_t first, Index count);

}  // namespace exhume
