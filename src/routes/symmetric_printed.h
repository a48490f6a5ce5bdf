// The algorithms of paper symmetric (exhume/papers/symmetric.h) on moments, so that exact ones can be given.
#pragma once

#include "exhume/papers/symmetric.h"
#include "moments/cross_moments.h"
#include "moments/detector.h"

namespace exhume {

// The sign of pure neurons: a column z_i of z (k x k) is turned around where E[z_i.y] < 0, since a ReLU is
// nowhere negative.
void turn_to_positive_means(Matrix& z, const Vector& mean_y);

// Algorithms 2 and 3 from moments; m = k is the number of outputs.
[[nodiscard]] DetectorNetwork algorithm2(const CrossMoments& moments, const PrintedOptions& options);
[[nodiscard]] DetectorNetwork algorithm3(const CrossMoments& first, const CrossMoments& second,
                                         const PrintedOptions& options);

}  // namespace exhume
