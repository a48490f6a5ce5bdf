// What queries have shown of a network with several hidden layers, within one space. Measured, with errors;
// nothing in it is a guess. And places of the space to ask at, drawn at random as the evidence suggests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "extract/kink.h"
#include "extract/space.h"

namespace exhume {

// A place on the surface of a unit, and how far it may be off.
struct MetPlace {
  Vector at;
  double error = 0;
};

struct QueryEvidence {
  std::vector<Kink> kinks;                 // that no plane of the first layer explains
  std::vector<LocalLinear> jacobians;      // between kinks
  Matrix slopes;                           // in a box: rows of Jacobians, of unit norm: any number x s
  double scale = 1;                        // distance of planes from the middle
  RowMatrix u, y;                          // the sample: random queries, and others that fits are to answer
  std::vector<std::size_t> sample_blocks;  // of the meter's history that are in the sample
  int lines = 0, judged = 0;               // so far: lines, and sets of kinks from segments

  // What has been tried, so that it is not tried again.
  std::vector<Segment> drawn;  // lines to where most was left
  struct TracedKink {
    std::size_t level = 0, kink = 0;
    Index units = 0;  // below; negative once their signs are known
    bool operator==(const TracedKink&) const = default;
  };
  std::vector<TracedKink> in_vain;  // kinks that led to no unit of that level
  int breaks = 0;                   // of surfaces that were looked at
  int climbs = 0;                   // sets of climbs asked at
  int far_looks = 0;                // for a unit that switches far out

  std::vector<double> first_line, first_kinks;  // t of the first line's ends, and of its kinks: for pictures

  // Where the space and the planes stay the same another search starts from this: all but sample and
  // attempts.
  [[nodiscard]] QueryEvidence measured() const;
};

// Asks at the rows of u; they and their answers join the sample.
void ask_for_sample(const Space& space, QueryEvidence& evidence, const RowMatrix& u);
// Random queries, until the sample has `count` rows.
void fill_sample(const Space& space, QueryEvidence& evidence, std::uint64_t seed, Index count);

// Random inputs of the domain: uniform in the box, or normal with this standard deviation. count x d.
[[nodiscard]] RowMatrix domain_inputs(const Frame& frame, double spread, std::uint64_t seed,
                                      std::uint64_t first, Index count);

// Places at random about the middle of the domain, as far out as the planes lie: count x s, rows from `first`
// on.
//
// In a box a sum of many weights hardly varies at random places, and most units stay on or off. They switch
// on the way to corners to which the function itself points: by the signs of random combinations of its
// slopes.
[[nodiscard]] RowMatrix places_about(const Space& space, const QueryEvidence& evidence, std::uint64_t seed,
                                     std::uint64_t first, Index count);

// Such corners: count x s.
[[nodiscard]] RowMatrix corners_about(const Space& space, const QueryEvidence& evidence, std::uint64_t seed,
                                      std::uint64_t first, Index count);

// From one corner of the box through its middle to the other: those to which w and -w point.
[[nodiscard]] Segment corners_along(const Space& space, const Vector& w);

}  // namespace exhume
