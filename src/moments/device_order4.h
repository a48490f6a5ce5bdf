// Moments of order 4 over rows on a device.
//
//     sum r x_a x_b x_c x_e over a <= b <= c <= e  =  (r * K_ab)^T K_ce     K: rows x p, coordinates of x x^T
//
// The (a, b) come in runs, each with those (c, e) that its first b asks for; (c, e) are numbered from the
// last input, so that these are the first columns. What a run sums beyond b <= c is not used. Rows come in
// strips: the features of a strip are made while the products of the one before it run, and shares of a strip
// are summed beside each other where one sum has too few entries to keep a device busy. Every entry is always
// summed in the same order.
#pragma once

#include <functional>

#include "data/resident.h"

namespace exhume {

struct Order4Plan {
  Index narrow = 128;  // (a, b) of a run where there are many columns; four times as many where there are few
  Index parts = 1;     // shares of a strip that are summed beside each other
  Index queues = 4;    // products at once
  double strip_bytes = 4.0 * (1ULL << 30U);  // of features
  bool ahead = true;                         // features are made while products run
};
[[nodiscard]] Order4Plan order4_plan(Index inputs);

// use(sum, difference) output by output, as moments_on_device (moments/device_moments.h) says.
void order4_on_device(
    const DeviceRows& rows, const Order4Plan& plan, const Control& control,
    const std::function<void(const DeviceView<double>& sum, const DeviceView<double>& difference)>& use);

// Flops that order 4 of one output takes there.
[[nodiscard]] double order4_flops(Index rows, Index inputs, const Order4Plan& plan);

}  // namespace exhume
