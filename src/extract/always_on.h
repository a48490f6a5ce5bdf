// A unit of the last hidden layer that is on at all questions so far.
//
//     y = sum_i c_i |z_i| + L h + e = sum_i 2 c_i max(s_i z_i, 0) + (L - sum_i s_i c_i w_i) h + ...
//
//     z_i = w_i.h + b_i: the known units     h: features of the layer below     s_i: their signs, open
//
// It acts as a linear function of h, so that with one output its row is what L has beyond the known units, up to a factor: one
// row for each way of their signs. A unit that is on everywhere is hardly less than 0 for h far out: ways of which that holds best
// come first. Where it does switch, far out, the direction of the kink tells the way.
#pragma once

#include <vector>

#include "model/form.h"

namespace exhume {

struct AlwaysOnRow {
  Vector row;    // on h, of unit norm
  Vector signs;  // s, of the known units
};

// plain: the known units; F = (|z|, h, 1) at the questions, B: what the outputs are on it. None where the known units are all, with
// several outputs, or where there are too many ways.
[[nodiscard]] std::vector<AlwaysOnRow> always_on_rows(const DeepForm& plain, const Matrix& F,
                                                      const Matrix& B);

// The plain form with that unit, whose surface passes through the place u, on at the place `on`; C is left empty.
[[nodiscard]] DeepForm with_always_on(const DeepForm& plain, const AlwaysOnRow& unit, const Vector& u,
                                      const Vector& on);

}  // namespace exhume
