// Move: weights and units that act where no random query showed them.
//
//   needs     a plain network that answers all queries so far
//   asks      up to 12 rounds of 200 climbs (extract/climb.h), at most 400 places where pairs of units act,
//             and 6 per change of the last hidden layer that no query shows
//   time      a polish of the last hidden layer per wrong answer; eigenvalues of at most 1500 unknowns per
//             round
//   changes   nothing: the network is returned, and whether all climbs are answered
//
// Where an answer is wrong
//
//   1. all weights are fitted again with these answers: a weight may have been open
//   2. or a unit of the last hidden layer is missing. It is off at all other queries, so what is left is
//
//          y - f(x) = a max(w.h(x) + b, 0)  =  (a w).h + a b       where it is on
//
//      linear in the features h of the layer below: least absolute deviations over the wrong answers.
#pragma once

#include <cstdint>

#include "extract/evidence.h"
#include "model/form.h"

namespace exhume {

struct CompletedNetwork {
  DeepForm form;
  Index added = 0;     // units
  bool right = false;  // all climbs are answered
};

// whole: the inputs themselves. x, y: queries that the form answers, which those of the climbs join.
[[nodiscard]] CompletedNetwork complete_network(const Space& whole, const QueryEvidence& evidence,
                                                const DeepForm& form, RowMatrix x, RowMatrix y,
                                                std::uint64_t seed);

}  // namespace exhume
