// Does a function bend across a plane, and where? Four questions a place.
//
//     g(t) = f(u + t w)    asked at    t = -2h, -h, h, 2h
//
// Two slopes, left and right; where they differ the lines meet at the kink t* = offset, which is known to the
// noise of an answer over the jump, whatever h is. Where both slopes are zero, f says nothing there.
#pragma once

#include <string>
#include <vector>

#include "extract/space.h"

namespace exhume {

struct Bend {
  bool alive = false;  // f changes there at all
  bool bends = false;  // within h of the place
  double offset = 0;   // t*
  double error = 0;    // of t*
  Vector jump;         // right slope - left slope, m
};

// Places u and unit directions w: n x s each. steps: h; shorter where the box is nearer.
[[nodiscard]] std::vector<Bend> bends_at(const Space& space, const std::string& stage,
                                         const RowMatrix& places, const RowMatrix& directions,
                                         const Vector& steps);

}  // namespace exhume
