// Move: one hidden layer of smooth units (tanh, GELU and others), from random queries.
//
//   needs     answers that curve everywhere: the probe tells it of doubles, curves_coarsely of single
//             precision
//   asks      random queries over the domain: 650, or, where inputs are many, 2.5 times the unknowns of the
//             widest students; then four times as many and again, while what the best network leaves of
//             fresh ones promises more; 12,000 at most
//   time      the search of fit/smooth_search.h on the answers
//   changes   nothing: returns the network, which answers the queries to their precision, or why there is
//             none
#pragma once

#include <cstdint>
#include <string>

#include "exhume/network.h"
#include "extract/space.h"
#include "oracle/meter.h"

namespace exhume {

struct SmoothLayer {
  Network network;      // canonical, in the inputs themselves; empty where none was found
  std::string refusal;  // then why
};

[[nodiscard]] SmoothLayer find_smooth_layer(Meter& meter, const AnswerNoise& noise, std::uint64_t seed);

// Answers of single precision hide curvature along steps as short as the probe's. Five equal steps of two
// lengths, 0.02 and 0.06 of the domain, at twelve places: off its straight line a smooth function leaves a
// parabola that grows ninefold; a piecewise linear one rounding, or a kink, which is none. 120 queries.
[[nodiscard]] bool curves_coarsely(Meter& meter, const AnswerNoise& noise, std::uint64_t seed);

}  // namespace exhume
