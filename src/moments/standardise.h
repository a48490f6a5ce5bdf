// Coordinates in which inputs have mean 0 and covariance I, and outputs mean 0 and variance 1; and back.
//
//     x' = P (x - mu),  P = Sigma^(-1/2)          y' = D (y - nu),  D = 1 / standard deviations
//
// A network of the primed coordinates is a network of the user's: w = P^T w', b = b' - w.mu, A = D^-1 A',
// L = D^-1 L' P, c = D^-1 c' + nu - L mu. Gaussian inputs of any mean and covariance become standard ones
// (paper rectified, Remark 3).
#pragma once

#include "exhume/network.h"
#include "exhume/samples.h"
#include "moments/moments.h"

namespace exhume {

struct Standardisation {
  AffineMap map;
  Matrix back;  // P^-1, d x d
  // The network in the user's coordinates: the first layer and every skip term see x, the last one gives y.
  [[nodiscard]] Network to_user(const Network& standard) const;
  // A network of the user's in standardised coordinates.
  [[nodiscard]] Network from_user(const Network& network) const;
};

// Throws DataError naming the columns where an input column is constant, two are copies of each other, or the
// inputs lie in a hyperplane, and where an output is constant.
[[nodiscard]] Standardisation standardise(const SecondMoments& moments);

}  // namespace exhume
