// Single kinks: places where f bends, with the jump of the Jacobian there.
//
// Does f bend across a plane, and where? Four queries per place:
//
//     g(t) = f(u + t w)    asked at    t = -2h, -h, h, 2h
//
// Two slopes, left and right; where they differ the lines meet at the kink t* = offset, which is known to the
// noise of an answer over the jump, whatever h is. Where both slopes are zero, f says nothing there.
//
//     segment    all kinks of f between two places: about 8 queries each, and 2 (s + 2) for its Jacobians
//     first      r = f - model is 0 at `right` and not at `wrong`: bisection to where it begins, about 20
//                queries and 2 (s + 2), whatever the number of kinks in between that the model knows
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "extract/jacobian.h"
#include "extract/line.h"
#include "extract/space.h"

namespace exhume {

// A place where f bends.
struct Kink {
  Vector place;      // s
  Vector normal;     // s, unit norm: the Jacobian jumps by jump normal^T
  Vector jump;       // m
  double error = 0;  // of the normal
};

// The kink at `place` from Jacobians on either side; empty where their difference is not of rank one.
[[nodiscard]] std::optional<Kink> kink_between(const Space& space, const LocalLinear& before,
                                               const LocalLinear& after, const Vector& place);

struct Bend {
  bool alive = false;  // f changes there at all
  bool bends = false;  // within h of the place
  double offset = 0;   // t*
  double error = 0;    // of t*
  Vector jump;         // right slope - left slope, m
};
// Places u and unit directions w: n x s each. steps: h; shorter where the box is nearer.
[[nodiscard]] std::vector<Bend> bends_at(const Space& space, QueryStage stage, const RowMatrix& places,
                                         const RowMatrix& directions, const Vector& steps);

// Kinks of f along from + t v: their t.
[[nodiscard]] std::vector<double> kinks_along(const Space& space, QueryStage stage, const Vector& from,
                                              const Vector& v, const LineOptions& line);

[[nodiscard]] std::vector<Kink> kinks_of_segment(const Space& space, const Vector& from, const Vector& to,
                                                 std::uint64_t seed);

// The model's answers at the rows of u, and how far they may be off.
using Model = AskNoisy;

// `scale`: distance of planes from the middle.
[[nodiscard]] std::optional<Kink> first_kink(const Space& space, const Model& model, const Vector& right,
                                             const Vector& wrong, double scale, std::uint64_t seed);

}  // namespace exhume
