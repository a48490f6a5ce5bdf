// Move: what kind of thing answers? About a hundred queries before the extraction, a few hundred where
// answers
// are coarse.
//
//     determinism   the same inputs again, in another order
//     precision     five equal steps of length delta, 10 delta, 100 delta at a few inputs. Off its straight
//                   line a piecewise linear function leaves rounding, the same for all three lengths, but
//                   where a kink lies between
//     curvature     what is left grows as delta^2 everywhere: tanh, sigmoid, GELU
//     steps         answers do not change at all from step to step, but from input to input: trees, labels
//     whole numbers answers change with the next whole number only, or there are none in between
//     shape         coarse answers, or constant ones: what is first seen off a straight line
//                   (extract/moves/tell_shape.h)
//     probabilities rows of positive numbers that sum to 1, or logarithms of such: logits up to a constant
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "extract/space.h"
#include "oracle/meter.h"

namespace exhume {

enum class Reading { kPlain, kProbabilities, kLogProbabilities };

struct Probe {
  AnswerNoise noise;
  Reading reading = Reading::kPlain;
  bool curved = false;  // everywhere: smooth units
  std::string refusal;  // why there is nothing to extract, one sentence; empty where there is
};

// An answer in a box holds a probability of 0, which is no logit: where the classifier is that sure nothing
// can be read.
class NoLogit : public std::runtime_error {
 public:
  explicit NoLogit(const Box& box);
};

// Asks, and lets the meter read probabilities as logits; later answers in a box that hold a 0 then end in
// NoLogit.
[[nodiscard]] Probe probe_oracle(Meter& meter, std::uint64_t seed);

// log p less its mean over outputs.
[[nodiscard]] RowMatrix centred_logits(const RowMatrix& probabilities, bool logarithms);

}  // namespace exhume
