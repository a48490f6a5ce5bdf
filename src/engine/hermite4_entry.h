// One entry of a Hermite moment of order 4, on the processor and on devices.
//
//     sum r x_i x_j x_k x_l - the six pairings of sum r x x^T with I + sum r times the three of I with I
//
// in the coordinates of linalg/symmetric_matrix.h: rows (i, j), columns (k, l), times the roots of two of
// both. `sum` carries those of the sorted indices instead, which are equal pairwise where `low_equal` and
// `high_equal` say so. M: sum r x x^T, column-major, columns d apart; zeroth: sum r.
#pragma once

#include <cstddef>

#ifdef __CUDACC__
#define EXHUME_EVERYWHERE __host__ __device__
#else
#define EXHUME_EVERYWHERE
#endif

namespace exhume {

EXHUME_EVERYWHERE inline double hermite4_entry(double sum, const double* M, double zeroth, std::ptrdiff_t d,
                                               std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t k,
                                               std::ptrdiff_t l, bool low_equal, bool high_equal) {
  constexpr double kRoot = 1.41421356237309504880;
  const double scale = (i == j ? 1.0 : kRoot) * (k == l ? 1.0 : kRoot);
  const double sorted = (low_equal ? 1.0 : kRoot) * (high_equal ? 1.0 : kRoot);
  const bool ij = i == j, kl = k == l, ik = i == k, jl = j == l, il = i == l, jk = j == k;
  double pairings = 0;
  if (kl) pairings += M[i + j * d];
  if (ij) pairings += M[k + l * d];
  if (jl) pairings += M[i + k * d];
  if (ik) pairings += M[j + l * d];
  if (jk) pairings += M[i + l * d];
  if (il) pairings += M[j + k * d];
  const int identities = (ij && kl ? 1 : 0) + (ik && jl ? 1 : 0) + (il && jk ? 1 : 0);
  return scale * (sum / sorted - pairings + zeroth * identities);
}

}  // namespace exhume
