// The sign patterns of a row space (paper rectified, Lemma 1).
//
// For B (k x n), the patterns are the sets S for which some w has (wB)_i > 0 exactly for i in S; elsewhere it
// is negative or zero, which matters because the rows of f(VX) are zero there. In general position there are
//
//     2 sum_{i<k} C(n-1, i)        cells of the arrangement of the n hyperplanes w.B_i = 0 in R^k
//
// and they are found by adding one hyperplane after the other: every pattern of the columns so far keeps a
// point, that point decides one side of the new hyperplane, and a linear program (maximise the smallest
// positive entry) decides the other. No pattern is met twice and no k-subset is enumerated: at most one
// program a pattern and column.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

using SignPattern = std::vector<bool>;  // n entries, true where positive

struct PatternBudget {
  Index most_patterns = 2'000'000;
};

struct SignPatterns {
  std::vector<SignPattern> patterns;
  bool complete = true;  // false where the budget or the deadline came first
  Index programs = 0;    // linear programs solved
};

[[nodiscard]] SignPatterns sign_patterns(const Matrix& B, const PatternBudget& budget,
                                         const Control& control);

// 2 sum_{i<k} C(n-1, i).
[[nodiscard]] double patterns_in_general_position(Index k, Index n);

}  // namespace exhume
