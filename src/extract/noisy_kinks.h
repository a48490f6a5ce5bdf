// Kinks from answers of few digits: every place with an error bar, every decision against the noise.
//
//     answers y = f(u) + e,     e of standard deviation sigma = relative max(|y|, typical)
//
// On a grid along a line second differences of a straight part are e_{i-1} - 2 e_i + e_{i+1}; what exceeds
// six
// times 6^(1/2) sigma is a kink. Parts between kinks are fitted by least squares, all their points, and two
// neighbours meet at the kink between them:
//
//     t* = -(db.ds) / |ds|^2,     error = (Var_left(t*) + Var_right(t*))^(1/2) / |ds|
//
// where the lines have to meet in all outputs. Normals come from Jacobians on either side by central
// differences, with steps as long as the parts beside the kink allow and second differences tell to be
// straight.
#pragma once

#include <vector>

#include "extract/space.h"

namespace exhume {

// Where queries are asked whose answers have few digits.
struct NoisySpace {
  Space space;
  double relative = 1e-7;  // sigma over the size of answers

  explicit NoisySpace(const Space& within);
  [[nodiscard]] Index dimensions() const { return space.dimensions(); }
  [[nodiscard]] double sigma(double size) const { return relative * std::max(size, space.noise.typical); }
  // Inputs themselves are asked in single precision, as an oracle of that precision sees them.
  [[nodiscard]] RowMatrix rounded(RowMatrix u) const;
  [[nodiscard]] RowMatrix ask(QueryStage stage, const RowMatrix& u) const {
    return space.ask(stage, rounded(u));
  }
};

// A kink on a line.
struct LineBend {
  double at = 0, error = 0;
  Vector jump;                   // of the slope along the line, m
  double jump_error = 0;         // of each entry
  double before = 0, after = 0;  // lengths of the straight parts to either side
};
// All that stand alone on from + t v, low <= t <= high, asked at `count` points.
[[nodiscard]] std::vector<LineBend> bends_of_line(const NoisySpace& f, QueryStage stage, const Vector& from,
                                                  const Vector& v, double low, double high, Index count);

struct NoisyKink {
  Vector place, normal;  // s; normal of unit norm
  double error = 0;      // distance of the place from the surface
  double turn = 0;       // error of the normal
  Vector jump;           // m: the Jacobian jumps by jump normal^T
  double room = 0;       // of the straight parts beside it
};
// Those of the bends of a line whose jump is of rank one.
[[nodiscard]] std::vector<NoisyKink> kinks_with_normals(const NoisySpace& f, const Vector& from,
                                                        const Vector& v, const std::vector<LineBend>& bends);

// Does f bend across a plane near a place of it? Asked at -3h, -2h, -h, h, 2h, 3h along the normal.
enum class Seen { kBend, kNone, kDead, kCrowded };
struct NoisyBend {
  Seen seen = Seen::kCrowded;
  double offset = 0, error = 0;  // of the kink from the place
  Vector jump;                   // m
  double jump_error = 0;         // of each entry
};
[[nodiscard]] std::vector<NoisyBend> look_across(const NoisySpace& f, QueryStage stage,
                                                 const RowMatrix& places, const RowMatrix& normals,
                                                 const Vector& steps);

}  // namespace exhume
