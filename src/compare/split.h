// lower <= max over the box of |g - f| <= upper, by splitting the box where the bound is worst.
//
// Best first: in every round the boxes of largest bound are cut in half along the input of largest influence
// (pair_bounds.h), and both halves are bounded; all of a round at once, so that threads change nothing. The
// lower end is the largest difference found: at the corners that the linear parts name, and where a search
// was before. Stops where the interval decides what was asked, where it is narrow enough, and at a limit of
// boxes; a time limit only stops it and never changes which boxes are cut.
//
// The splitting is a binary tree, written in preorder: "3" a cut along input 3 (from 0), "." a leaf. Cuts
// are at the middle, so that the tree and the box give every leaf again.
#pragma once

#include <functional>
#include <string>

#include "compare/pair_bounds.h"
#include "exhume/control.h"

namespace exhume {

struct SplitOptions {
  double accept = 0;             // stop where the upper end is at most this
  double refuse = 1e300;         // stop where the lower end is above this
  double ratio = 1;              // stop where upper <= ratio * lower
  Index boxes = 20'000;          // most boxes to be bounded
  Index boxes_decided = 20'000;  // most once the lower end is above `accept`: the answer is known then
};

struct SplitResult {
  double lower = 0, upper = 0;
  Vector worst;     // where the lower end is
  Index boxes = 0;  // bounded
  Index leaves = 0;
  std::string tree;
};

// |g - f| at rows of inputs, in one number per row that is never above the true one.
using SureDifference = std::function<Vector(const RowMatrix&)>;

[[nodiscard]] SplitResult split(const PairBounds& pair, const Vector& low, const Vector& high,
                                const Vector& start, const SureDifference& difference,
                                const SplitOptions& options, const Control& control);

// The largest bound over the leaves of a tree; throws DataError where it is no tree of this box. If a
// leaf's own bound exceeds `target`, the bounds of the boxes that contain it are tried: they hold for it too.
[[nodiscard]] double bound_of_leaves(const PairBounds& pair, const Vector& low, const Vector& high,
                                     const std::string& tree, double target, const Control& control);

// Where a box is cut: the same number wherever it is asked for.
[[nodiscard]] inline double middle_of(double low, double high) { return low + (high - low) / 2; }

}  // namespace exhume
