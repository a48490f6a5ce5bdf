// Runs of coordinates (a, b) of a symmetric matrix (linalg/symmetric_matrix.h) with neighbouring b.
//
// A sum over a <= b <= c of something symmetric in its indices is a product of a run with the columns c >= b
// of its first b: a little more than the third of all pairs ((a, b), c) that is needed, and large enough to
// be fast.
#pragma once

#include <algorithm>

#include "linalg/symmetric_matrix.h"

namespace exhume {

// Calls visit(b, from, size) for every run of up to eight b, the first of them given: its coordinates are
// [from, from + size).
template <class Visit>
void for_symmetric_runs(Index d, const Visit& visit) {
  constexpr Index kStep = 8;
  for (Index b = 0; b < d; b += kStep) {
    const Index from = symmetric_size(b);
    visit(b, from, symmetric_size(std::min(d, b + kStep)) - from);
  }
}

}  // namespace exhume
