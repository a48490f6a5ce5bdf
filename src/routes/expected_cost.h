// What recovering one hidden layer will take, before anything is read but the shape of the samples.
//
//     moments    2 rounds of n m' (r^4 / 12 + 7 r^3 / 2) flops   r = min(d, active directions), m' outputs
//     polish     2 x 15 steps of n' (k (d+1))^2 flops, or 120 products of 4 n' k (d + m) each, the lesser
//     passes     8 of 2 n (d + m)^2 flops on the processor
//
//     k: as asked for, or r;  n' = 5 (k (d + m) + m (d + 1)) / m rows, five equations for every unknown
//
// Laws of docs/scaling.md: for Gaussian inputs whose units the moments show. Good to a factor of two or
// three.
#pragma once

#include <optional>

#include "exhume/types.h"

namespace exhume {

struct ProblemSize {
  Index rows = 0, inputs = 0, outputs = 0;
  std::optional<Index> hidden;
  int threads = 1;
  double thread_flops = 5e10;  // per second and thread, in large products
  bool device = false;
};

struct ExpectedCost {
  double seconds = 0;
  double bytes = 0;         // of this machine's memory
  double device_bytes = 0;  // of the device's
};

[[nodiscard]] ExpectedCost expected_cost(const ProblemSize& problem);

// Flops per second of one thread, by a product that takes some milliseconds.
[[nodiscard]] double measured_thread_flops();

}  // namespace exhume
