// A black box against a network in a file, by queries.
//
// 1. Random inputs of the domain: which arithmetic explains the answers (arithmetic.h)? What is beyond it at
//    any input is a difference.
// 2. Fresh random inputs: no difference in N of them bounds the share of the domain at a confidence.
// 3. Both sides of the kinks of the file's units; corners of the box, all of them where there are few: a unit
//    of the first layer that is on somewhere in a box is on at a corner. Extremes of random combinations of
//    the features of every layer, where a unit above them that is rarely on would be. Inputs where weights of
//    the file act that act at hardly any random input.
// 4. Lines through the domain, and far out, where half of all units of the first layer are on however rarely
//    they are inside: the answers must be the file's there too. A difference far out is followed home: its
//    gradient is the direction w of the unit, the place on the line where it begins a point of its plane, and
//    the corner of the domain in that direction is where the unit is on, if it is anywhere.
// 5. Ascent of the difference by its gradient.
#pragma once

#include "compare/search.h"
#include "exhume/compare.h"

namespace exhume {

// Fills in what queries show; `out` has names and domain already. f: the network in the file, asked by
// itself; the other is `oracle`.
void compare_black_box(const Network& f, Oracle& oracle, const CompareOptions& options,
                       const Control& control, CompareResult& out);
// Two black boxes: random inputs, corners and lines.
void compare_two_black_boxes(Oracle& first, Oracle& second, const CompareOptions& options,
                             const Control& control, CompareResult& out);

}  // namespace exhume
