// What the methods of paper rectified share as rows of the table: all rows in memory, exact ends, words for
// ranks.
//
// ica, tensor, symmetric and sparse-noise end in the exact finish (papers/rectified/pattern_finish.cc),
// without a polish. None but noise and arbitrary-noise knows noise: certified means that every row is
// reproduced to rounding. What samples cannot tell is noted too: with N held-out rows reproduced, another
// network may still differ on a share log(1000)/N of the inputs (99.9% confidence; paper rectified, Lemma 16,
// is a pair that does).
#pragma once

#include <string>

#include "routes/route.h"

namespace exhume::rectified {

// All rows of a source, in memory.
struct Rows {
  RowMatrix x, y;
  // The same as samples; points into this object.
  [[nodiscard]] SamplePtr view() const;
};
[[nodiscard]] Rows rows_of(const SampleSource& samples);

// At least two rows.
void demand_two_rows(const SampleSource& samples, const RecoverOptions& options);

[[nodiscard]] Found refused(std::string why);
// Refused because the outputs' rank is not the number of units.
[[nodiscard]] Found refused_rank(Index rank, Index hidden);

// A network that is to reproduce the training rows exactly; `otherwise` is the reason where it does not.
[[nodiscard]] Found exact_network(Job& job, const Rows& training, Network network, std::string otherwise);

}  // namespace exhume::rectified
