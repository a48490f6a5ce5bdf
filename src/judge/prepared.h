// Samples made ready once, for every route: distinct rows, rows held out, standardised coordinates, what
// inspection saw.
//
//     samples -> distinct rows -> split -> moments of the training rows -> standardised coordinates
//
// Nothing here, and nothing behind it, looks at a held-out row before the verdict.
#pragma once

#include <cstdint>
#include <optional>

#include "certify/inspect.h"
#include "certify/stored_precision.h"
#include "exhume/certificate.h"
#include "exhume/samples.h"
#include "moments/moments.h"
#include "moments/standardise.h"

namespace exhume {

// How many rows are held out: one in `period` of those that are used, none where it is 0.
//   kFitted     250 rows or a fiftieth, whichever is more, but never above a tenth: fits need the rows
//   kExact      a tenth, a twentieth from 4,000 rows on, none below 60: exact methods need all of few rows
//   kTwentieth  a twentieth: for layers, whose units are seldom active
enum class HoldOut { kFitted, kExact, kTwentieth };
[[nodiscard]] Index held_out_period(HoldOut rule, Index rows);

// Rows that a search is given where there are at least eight times as many, 0 where there are not:
//
//     max(65,536, 128 d^2)
//
// Moments of order 4 found all of 10, 30 and 64 units in as many inputs from 20,000, 100,000 and 300,000
// rows.
[[nodiscard]] Index rows_for_search(Index rows, Index inputs);

class Prepared {
 public:
  // Fills rows, samples, held_out, held_out_period and seed of `certificate`.
  Prepared(const SamplePtr& samples, HoldOut rule, std::uint64_t seed, Certificate& certificate,
           const Control& control);

  [[nodiscard]] const Inspection& inspection() const { return inspection_; }
  [[nodiscard]] const SamplePtr& rows() const { return rows_; }  // distinct, training and held out
  [[nodiscard]] const SamplePtr& training() const { return split_.training; }
  [[nodiscard]] const SamplePtr& held_out() const { return split_.held_out; }

  // Where there are plenty of training rows, what is made of them below is made of a part, drawn by the seed:
  // a search sees no others, while the verdict looks at all rows. Returns how many these are, 0 for all. To
  // be called before anything else.
  Index search_some(std::uint64_t seed);

  // Of the training rows that the search sees; made when first asked for. Throw DataError where the inputs or
  // outputs have no spread.
  [[nodiscard]] const SecondMoments& moments();
  [[nodiscard]] const Standardisation& coordinates();
  // Columns that take standardised inputs to the user's, each up to shift and scale: d x d.
  [[nodiscard]] Matrix user_columns() { return coordinates().back.transpose(); }
  // Those rows in these coordinates; in memory where they are small.
  [[nodiscard]] const SamplePtr& standard();
  // Of all training rows' outputs; and what their rounding leaves in standardised coordinates, if anything.
  [[nodiscard]] const StoredPrecision& precision();
  [[nodiscard]] std::optional<RoundingNoise> rounding();

 private:
  Control control_;
  Inspection inspection_;
  SamplePtr rows_;
  Split split_;
  SamplePtr searched_;  // training rows that the search sees, in memory; empty: all
  std::optional<SecondMoments> moments_;
  std::optional<Standardisation> coordinates_;
  SamplePtr standard_;
  std::optional<StoredPrecision> precision_;
};

}  // namespace exhume
