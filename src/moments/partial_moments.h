// Moments of one site's rows, to be merged with those of others: only sums travel, never a row.
//
//     x' = P (x - mu)     y' = D (y - nu)     r = y' - L x'          the frame: the same at every site
//
//     hermite   sums of r, r x', r vech(x'x'^T), ... up to `order`, over even and over odd rows (moments.h)
//     second    count, mean and covariance of (x, y)
//
// The first site makes the frame from its own rows (standardise.h; L is its linear fit); the others are given
// it. It need not fit theirs exactly: He_p is nearly orthogonal to what is left.
//
// What such a file tells: mean, covariance and linear fit of the first site in the frame; and of every site
// the number of its rows and the averages above: about (m + d)^2 / 2 + m d^p / p! numbers. With fewer rows
// than numbers they could be solved for the rows, so `partial_moments` refuses a site with less than twice as
// many rows as numbers.
#pragma once

#include <optional>
#include <string>

#include "exhume/samples.h"
#include "moments/moments.h"

namespace exhume {

struct PartialMoments {
  Matrix P;      // d x d
  Vector mu;     // d
  Vector D, nu;  // m
  Matrix L;      // m x d
  HermiteMoments hermite;
  SecondMoments second;

  [[nodiscard]] Index rows() const { return second.count; }
  // Throws DataError where the frames or the orders differ.
  void merge(const PartialMoments& other);
  [[nodiscard]] std::string serialise() const;
  // Throws DataError naming `name` where the bytes are no moments of this version.
  [[nodiscard]] static PartialMoments deserialise(const std::string& bytes, const std::string& name);
};

// order: 2 to 4. `like`: in whose frame; without it in that of these samples.
[[nodiscard]] PartialMoments partial_moments(const SamplePtr& samples, int order, const PartialMoments* like,
                                             const Control& control);

}  // namespace exhume
