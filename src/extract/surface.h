// The surface of a unit above known layers, row.P = 0: whether f bends along it, and the row once more from
// where it does.
//
//     P = (|Q_l|, ..., |Q_1|, u, 1)  (sign_free_layers.h),  theta.P(u_i) = 0 at every place u_i that was met,
//
// linear in theta: least squares, each equation over the error of its place. A place at which f bends along
// another surface contradicts the others by thousands of its errors, and is left out.
#pragma once

#include <cstdint>
#include <vector>

#include "extract/evidence.h"
#include "extract/sign_free_layers.h"

namespace exhume {

// Half the window in which a kink is looked for, over the scale: the first in which it is. With one output
// nothing tells a second kink between the four queries, and 2e-4 meets one in a thousand places.
inline constexpr double kBendSteps[] = {2e-6, 2e-4};

// What f does at random places of the surface row.P = 0: for a unit of the network it bends at all of them
// where it changes at all.
struct AlongSurface {
  Index alive = 0, bends = 0;
  std::vector<MetPlace> met;
};
[[nodiscard]] AlongSurface along_surface(const Space& space, const SignFreeLayers& below,
                                         const QueryEvidence& evidence, const Vector& row, Index places,
                                         std::uint64_t seed);

// The row once more from all places at which its surface was met, and from its kinks: least squares about
// `row`, among x.B and a constant where `plain` has rows. Parts that no place says anything of stay as they
// are. Places that the others contradict, where f bends along another surface, are taken out of `met`. `off`
// becomes the largest distance of a place from the surface.
[[nodiscard]] Vector through_places(const SignFreeLayers& below, const Vector& row,
                                    const std::vector<Kink>& kinks, std::vector<MetPlace>& met, double& off,
                                    const Matrix& plain = {});

}  // namespace exhume
