// A polish by rounds of sums: every site adds up its rows, only sums travel, and one Gauss-Newton step is
// made of them.
//
//     f(x) = C^T phi(V x)     R = Y - F C     G: derivatives of the units     (model/form.h, fit/polish.h)
//
//     at every site     n, |R|^2, F^T F, F^T R, G^T G, G^T F, G^T R C^T, the spread of y, at one network
//     where they meet   (H + lambda diag H) dV = G^T R - G^T F (F^T F)^-1 F^T R   H: as in fit/polish.h
//                       dC = (F^T F)^-1 (F^T R - F^T G dV)
//
// One round is one step. Near the network the error is squared by every round, so a handful suffices. Where a
// step made things worse, it is made again from the network before with a larger lambda.
//
// What sums tell: of k(d+1) + q + m numbers at every row, products averaged over the rows. `partial_sums`
// refuses fewer rows than twice the number of those numbers.
#pragma once

#include <string>

#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"

namespace exhume {

struct PartialSums {
  std::string network;  // SHA-256 of the network at which they were made
  double rows = 0;
  Vector squares;       // of the residuals, by output
  Vector mean, spread;  // of the outputs: sum of squares about the mean
  Matrix FF, FR, GG, GF, gradient;

  // Throws DataError where they were made at different networks.
  void merge(const PartialSums& other);
  [[nodiscard]] double relative_mse() const { return squares.sum() / spread.sum(); }
  [[nodiscard]] std::string serialise() const;
  [[nodiscard]] static PartialSums deserialise(const std::string& bytes, const std::string& name);
};

[[nodiscard]] PartialSums partial_sums(const Network& network, const SamplePtr& samples,
                                       const Control& control);

// The network after one step. Throws DataError where the sums were made at another network.
[[nodiscard]] Network stepped(const Network& network, const PartialSums& sums, double damping);

}  // namespace exhume
